// One mutex beside the list, with its history. Its name is in the address: `#name`.

const detail = find("detail");
let opened = null, opened_row = null, opened_spans = [], opened_by = null;

const address = name => location.pathname + location.search + (name === null ? "" : "#" + encodeURIComponent(name));
const named = () => {
  try {
    return location.hash.length > 1 ? decodeURIComponent(location.hash.slice(1)) : null;
  } catch {
    return null; // not an address of this page's making
  }
};

const open = (name, how = {}) => {
  if (name === opened) return;
  if (opened === null) opened_by = document.activeElement;
  if (!how.is_there) history[opened === null ? "pushState" : "replaceState"](null, "", address(name));
  opened = name;
  opened_row = null;
  opened_spans = [];
  detail.hidden = false;
  detail.scrollTop = 0;
  find("detail-gone").hidden = true;
  fill_detail(rows.get(name) || { name, waiters: [], began: null, ends: null });
  ask_detail();
  cover();
  draw();
  if (!how.keeps_focus) detail.focus({ preventScroll: true });
};

const close = (how = {}) => {
  if (opened === null) return;
  opened = null;
  if (!how.is_there) history.pushState(null, "", address(null));
  detail.hidden = true;
  cover();
  draw();
  if (place.has(cursor)) move_to(place.get(cursor));
  else opened_by?.focus?.();
};

// On a phone the detail lies over everything: what is below cannot be reached.
const cover = () => {
  const is_covered = narrow.matches && opened !== null;
  find("top").inert = is_covered;
  document.querySelector("main").inert = is_covered;
  mark(detail, "aria-modal", is_covered ? "true" : null);
};

// No event tells of a row that is on no page here. At most once a second.
let detail_soon = 0, detail_asked = 0;
const ask_detail_soon = () => {
  if (opened === null || rows.has(opened)) return;
  detail_soon ||= setTimeout(() => {
    detail_soon = 0;
    if (opened !== null && !rows.has(opened)) ask_detail();
  }, Math.max(0, detail_asked + 1000 - performance.now()));
};

const ask_detail = async () => {
  const name = opened;
  detail_asked = performance.now();
  try {
    const answer = await ask("/api/v1/mutex?name=" + encodeURIComponent(name));
    if (name !== opened) return;
    looking_since = Date.parse(answer.looking_since);
    opened_spans = answer.history;
    // The events are as new, and keep the moments; only a row of another page is told here alone.
    if (!rows.has(name)) {
      const row = { ...answer.mutex };
      row.began = row.held_ms == null ? null : performance.now() - row.held_ms;
      row.ends = row.left_ms == null ? null : performance.now() + row.left_ms;
      row.late_from = late_from(row, opened_row, performance.now());
      row.full = row.lease_ms || row.left_ms || 1;
      find("detail-gone").hidden = true;
      fill_detail(row);
    }
    fill_history();
  } catch (error) {
    if (name !== opened || rows.has(name)) return;
    find("detail-gone").hidden = false;
    write(find("detail-gone"), error.status === 404 ? "The store has no mutex of this name now." : plain(error.message));
  }
};

// A word about the mutex that is open.
const follow = () => {
  const row = rows.get(opened);
  if (!row || row === opened_row) return;
  const is_changed = !opened_row || row.owner !== opened_row.owner || row.token !== opened_row.token;
  find("detail-gone").hidden = !row.gone;
  write(find("detail-gone"), "It is free, and the store keeps nothing of it.");
  fill_detail(row);
  if (is_changed) ask_detail();
};

const fill_detail = row => {
  opened_row = row;
  write(find("detail-name"), plain(row.name));
  write(detail.querySelector(".kind"), row.kind || "");
  find("detail-fault").hidden = !row.fault;
  write(find("detail-fault"), plain(row.fault || ""));
  write(find("detail-owner"), row.owner ? plain(row.owner) : "free");
  swatch(detail.querySelector(".facts .swatch"), row.owner);
  write(find("detail-token"), row.token || "–");
  detail.querySelector("[data-copy=owner]").hidden = !row.owner;
  detail.querySelector("[data-copy=token]").hidden = !row.token;
  write(find("detail-since"), row.since ? "since " + moment(Date.parse(row.since)) : "");
  find("detail-holds").hidden = row.holds == null;
  write(find("detail-holds").lastElementChild, String(row.holds ?? ""));
  find("detail-lease").hidden = row.ends === null;
  find("detail-next").hidden = !row.next_run && row.kind !== "schedule";
  const waiters = find("detail-waiters");
  waiters.hidden = !row.waiters.length;
  waiters.lastElementChild.replaceChildren(...row.waiters.map(id => {
    const item = make("li");
    item.append(make("bdi", "", plain(id)));
    return item;
  }));
  fill_run_table(row.runs || []);
  // What has holds lies where only its holder frees it; what is damaged can be mended without an owner.
  find("detail-revoke").hidden = !(store?.allow_revoke && (row.owner || row.fault) && row.holds == null);
  pass_detail(now());
};

const cells = (...parts) => {
  const line = make("tr");
  for (const [text, kind] of parts) line.append(make("td", kind, text));
  return line;
};

const fill_run_table = runs => {
  find("detail-runs").hidden = !runs.length;
  find("detail-runs").querySelector("tbody").replaceChildren(...runs.toReversed().map(run => cells(
    [moment(Date.parse(run.at))],
    [plain(run.outcome || "–"), OUTCOMES.has(run.outcome) ? "run-" + run.outcome : ""],
    [run.late_ms ? exact(run.late_ms) : "–", "number"],
    [run.duration_ms == null ? "–" : exact(run.duration_ms), "number"],
  )));
};

const fill_history = () => {
  const section = find("detail-history"), svg = section.querySelector("svg");
  sketch(svg, opened_spans);
  mark(svg, "aria-label", told_of(opened_spans));
  write(section.querySelector("h3 .quiet"), "since " + moment(looking_since) + ", when the server began to look");
  section.querySelector("table").hidden = !opened_spans.length;
  section.querySelector("tbody").replaceChildren(...opened_spans.toReversed().map(span => {
    const line = cells(
      ["", "who"],
      [(span.began === "seen" ? "before " : "") + moment(Date.parse(span.from))],
      ["", "number"],
      [span.ended ? ENDS[span.ended] || plain(span.ended) : "goes on", span.ended ? "ended-" + span.ended : ""],
    );
    const dot = make("span");
    swatch(dot, span.owner);
    line.cells[0].append(dot, make("bdi", "", plain(span.owner)), make("span", "code", span.token || ""));
    line.span = span;
    return line;
  }));
  pass_detail(now());
};

const pass_detail = at => {
  const row = opened_row, section = find("detail-history");
  write(find("detail-held"), row.began === null ? "–" : whole(at - row.began));
  pass_lease(find("detail-lease").querySelector(".bar"), find("detail-lease").querySelector(".left"), row, at);
  if (row.ends !== null) write(find("detail-lease").querySelector(".left"), brief(row.ends - at) + " of " + brief(row.full));
  if (!find("detail-next").hidden) pass_next(find("detail-next").lastElementChild, row);
  section.hidden = looking_since === null;
  if (section.hidden) return;
  const width = reach(10);
  slide(section.querySelector("svg"), width);
  const axis = section.querySelector(".axis");
  while (axis.children.length < 4) axis.append(make("span"));
  [...axis.children].forEach((label, i) => write(label, i === 3 ? "now" : moment(wall() - width * 1000 * (1 - i / 3))));
  for (const line of section.querySelectorAll("tbody tr")) {
    const { from, until } = line.span;
    write(line.cells[2], whole((until ? Date.parse(until) : wall()) - Date.parse(from)));
  }
};

find("close").addEventListener("click", () => close());
detail.addEventListener("click", event => {
  const what = event.target.dataset.copy;
  if (what) copy(opened_row[what], event.target);
});
const go = () => {
  const name = named();
  if (name === null) close({ is_there: true });
  else open(name, { is_there: true });
};
addEventListener("popstate", go);
addEventListener("hashchange", go);
narrow.addEventListener("change", cover);
