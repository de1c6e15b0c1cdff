// What is known, and which of it is shown in which order.

// The server tells all rows of a store that has no more than these; of a larger one a page is asked for.
const LIMIT = 2000, PAGE = 200;
const rows = new Map();
let kinds = {}, store = null, is_paged = false, has_rows = false, total = 0, matched = 0, offset = 0;
const view = { kind: "", search: "", state: "", sort: "name", order: "asc" };
let shown = [];
const place = new Map();

const kind_of = row => row.kind || "unknown";

// Since when a run is late. The server tells of it once; what it tells again is as of a while ago.
const late_from = (row, before, at) => {
  if (row.late_ms == null) return null;
  const known = before?.next_run === row.next_run ? before?.late_from ?? at : at;
  return Math.min(known, at - row.late_ms);
};

// A row is kept with the moments that its lengths mean.
const keep = row => {
  const before = rows.get(row.name), at = now();
  row.began = row.held_ms == null ? null : at - row.held_ms;
  row.ends = row.left_ms == null ? null : at + row.left_ms;
  const same = before && before.owner === row.owner && before.token === row.token;
  row.late_from = late_from(row, before, at);
  row.full = row.lease_ms || Math.max(row.left_ms || 1, same ? before.full : 0);
  row.changed = same ? before.changed : before ? at : row.began ?? -Infinity;
  row.is_fresh = Boolean(before) && !same;
  if (row.is_fresh) say(plain(row.name) + (row.owner ? ": now owned by " + plain(row.owner) : ": free"));
  rows.set(row.name, row);
  return row.is_fresh;
};

const STATES = {
  owned: row => Boolean(row.owner),
  free: row => !row.owner && !row.fault,
  waited: row => row.waiters.length > 0,
  faulty: row => Boolean(row.fault),
};

const letters = new Intl.Collator(undefined, { numeric: true });
const by_name = (a, b) => letters.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
// By moments, which stand, so that the order does not change from second to second. Last of all
// is what has none, in both orders.
const by_moment = key => (a, b, turn) => {
  if (a[key] === null || b[key] === null) return (a[key] === null) - (b[key] === null);
  return (a[key] - b[key]) * turn;
};
const ORDERS = {
  name: (a, b, turn) => by_name(a, b) * turn,
  owner: (a, b, turn) => !a.owner - !b.owner || letters.compare(a.owner || "", b.owner || "") * turn,
  held: (a, b, turn) => by_moment("began")(a, b, -turn),
  left: by_moment("ends"),
  waiters: (a, b, turn) => (a.waiters.length - b.waiters.length) * turn,
  changed: (a, b, turn) => (a.changed === b.changed ? 0 : a.changed < b.changed ? -turn : turn),
};

const is_wanted = row => {
  if (view.state && !STATES[view.state](row)) return false;
  if (!view.search) return true;
  const text = [row.name, row.owner || "", ...row.waiters].join("\n");
  return text.toLowerCase().includes(view.search);
};

// Whether the row may now be elsewhere, or not shown at all. Most words are of renewals, which move
// nothing: sorting a thousand names for each would be felt.
const may_move = (before, row) => !before || row.is_fresh || before.gone || before.fault !== row.fault || before.kind !== row.kind
  || before.waiters.join("\n") !== row.waiters.join("\n") || view.sort === "left";

// Computes what is shown. What the server has searched and sorted stays as it is.
const choose = () => {
  if (is_paged) {
    shown = [...rows.values()];
  } else {
    const turn = view.order === "asc" ? 1 : -1, order = ORDERS[view.sort];
    shown = [...rows.values()].filter(row => (!view.kind || kind_of(row) === view.kind) && is_wanted(row));
    shown.sort((a, b) => order(a, b, turn) || by_name(a, b));
    matched = shown.length;
    total = rows.size;
    kinds = {};
    for (const row of rows.values()) kinds[kind_of(row)] = (kinds[kind_of(row)] || 0) + 1;
  }
  place.clear();
  shown.forEach((row, i) => place.set(row.name, i));
};
