// What the server tells: events as they come, pages and histories when they are asked for.

const ask = async (path, options = {}) => {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(10_000), ...options });
  if (answer.status === 401) location.assign("/login");
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  throw Object.assign(new Error(body.error || "the server answered " + answer.status), { status: answer.status });
};

// The server has something to say every 5 s. One that is silent for so long is not there any more,
// whatever the browser thinks. By the wall clock, which goes on while the machine sleeps.
const SILENCE = 15_000;
let events = null, again = 0, heard = 0;
const listen = () => {
  clearTimeout(again);
  heard = Date.now();
  events?.close();
  events = new EventSource("/api/v1/events?limit=" + LIMIT);
  events.addEventListener("store", event => hear_store(JSON.parse(event.data)));
  events.addEventListener("mutexes", event => hear_mutexes(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    lose();
    // The browser comes again by itself, unless it was refused.
    if (events.readyState === EventSource.CLOSED) again = setTimeout(come_again, 2000);
  });
};
const is_silent = () => events !== null && Math.abs(Date.now() - heard) > SILENCE;
const come_again = () => { ask("/api/v1/store").then(listen, () => { again = setTimeout(come_again, 2000); }); };
const lose = (how = {}) => {
  if (!is_connected) return;
  is_connected = false;
  is_back = Boolean(how.is_back);
  fill_head();
  draw();
};

const hear_store = word => {
  const was_well = trouble() === null, could_revoke = store?.allow_revoke;
  store = word;
  is_connected = true;
  heard = Date.now();
  is_now(word.last_look, word.age_ms || 0);
  // Rows that are still to come are not as new as the store's last look.
  if (!is_behind && (word.reachable || word.age_ms != null)) last_word = performance.now() - (word.age_ms ?? 0);
  fill_head();
  if (opened !== null && opened_row && could_revoke !== word.allow_revoke) fill_detail(opened_row);
  draw(was_well !== (trouble() === null));
};

const hear_mutexes = word => {
  is_connected = true;
  heard = Date.now();
  has_rows = true;
  is_behind = Boolean(word.too_many);
  // Of a store that does not answer they are what was last seen.
  if (!is_behind && store?.reachable !== false) last_word = performance.now();
  if (word.too_many) {
    if (!is_paged) { is_paged = true; rows.clear(); }
    total = word.total;
    ask_page_soon();
    ask_detail_soon();
    fill_head();
    draw(true);
    return;
  }
  if (is_paged) { is_paged = false; offset = 0; rows.clear(); }
  if (word.whole) {
    const there = new Set(word.mutexes.map(row => row.name));
    for (const name of rows.keys()) if (!there.has(name)) drop(name);
    // The server may be another one, which began to look later.
    for (const name of drawn.keys()) want(name);
  }
  let is_moved = word.whole || word.gone.length > 0;
  for (const row of word.mutexes) {
    const before = rows.get(row.name);
    if (keep(row) && (drawn.has(row.name) || histories.has(row.name))) want(row.name);
    is_moved ||= may_move(before, row);
    if (!is_moved && place.has(row.name)) shown[place.get(row.name)] = row;
  }
  for (const name of word.gone) drop(name);
  if (opened !== null) follow();
  fill_head();
  draw(is_moved);
};

// Many stores forget a mutex that is free. It stays in sight for a while, as what it is: a row that
// vanished in the moment of a loss would leave nothing to look at.
const STAYS = 60_000;
const drop = name => {
  const row = rows.get(name);
  if (!row || row.gone) return;
  rows.set(name, { ...row, owner: null, fault: null, holds: null, waiters: [], began: null, ends: null, changed: now(), is_fresh: true, gone: performance.now() });
  say(plain(name) + ": free");
  if (histories.has(name)) want(name);
};
const forget = () => {
  for (const row of rows.values()) {
    if (!row.gone || performance.now() - row.gone < STAYS) continue;
    rows.delete(row.name);
    histories.delete(row.name);
    draw(true);
  }
};

// Pages of a store that has more than the server tells by itself. At most one a second. While one is
// under way one more waits for its end, or on a slow link none would ever come; only another
// choice of rows gives it up.
let turning = null, soon = 0, turned = 0, is_behind = false, is_due = false;
const ask_page_soon = () => {
  if (turning !== null) is_due = true;
  else soon ||= setTimeout(ask_page, Math.max(0, turned + 1000 - performance.now()));
};
const ask_page = async () => {
  clearTimeout(soon);
  soon = 0;
  is_due = false;
  turned = performance.now();
  turning?.abort();
  const mine = turning = new AbortController();
  const given = Object.entries({ ...view, offset, limit: PAGE }).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given);
  try {
    const answer = await ask("/api/v1/mutexes?" + query, { signal: AbortSignal.any([mine.signal, AbortSignal.timeout(10_000)]) });
    if (mine !== turning || !is_paged) return;
    const names = new Set(answer.mutexes.map(row => row.name)), before = new Map(rows);
    rows.clear();
    for (const row of answer.mutexes) {
      // What was known of it tells whether it has changed hands.
      if (before.has(row.name)) rows.set(row.name, before.get(row.name));
      const is_fresh = keep(row);
      rows.delete(row.name);
      rows.set(row.name, row);
      if (is_fresh) want(row.name);
    }
    for (const name of histories.keys()) if (!names.has(name)) histories.delete(name);
    total = answer.total;
    matched = answer.matched;
    kinds = answer.kinds;
    if (offset && !answer.mutexes.length && matched) { offset = 0; ask_page(); return; }
    is_behind = is_due;
    last_word = performance.now() - answer.age_ms;
    fill_head();
    if (opened !== null) follow();
    ask_detail_soon();
    draw(true);
  } catch {
    is_due = true;
  } finally {
    if (mine === turning) {
      turning = null;
      // Who has lost the server is told all when it is there again.
      if (is_due && is_paged && is_connected) ask_page_soon();
    }
  }
};

// A tab that nobody looks at keeps no connection for long: browsers have six for a server.
let leaving = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(leaving);
  if (document.hidden) leaving = setTimeout(() => { clearTimeout(again); events.close(); events = null; }, 30_000);
  else if (!events) { lose({ is_back: true }); listen(); }
});

setInterval(() => {
  if (document.hidden) return;
  if (is_silent()) { lose(); listen(); }
  pass_head();
  if (stands !== null) return;
  forget();
  draw();
  if (opened !== null) pass_detail(now());
}, 250);
