// The list: only the rows in sight exist, and a few around them.

const AROUND = 6;
const grid = find("grid"), list = find("list"), columns = find("columns");
const narrow = matchMedia("(max-width: 760px)");
const drawn = new Map(), spare = [];
let cursor = null, height = 42, is_drawing = false, is_stale = true;

const measure = () => {
  height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
  document.documentElement.style.setProperty("--top", narrow.matches ? "0px" : find("top").offsetHeight + "px");
};

// Asks for one drawing in the next frame, however many changes there are. With `anew` what is
// shown is computed again.
const draw = anew => {
  is_stale ||= anew === true;
  if (is_drawing) return;
  is_drawing = true;
  requestAnimationFrame(() => {
    is_drawing = false;
    if (is_stale) { is_stale = false; choose(); draw_around(); }
    draw_rows();
  });
};

// The rows from `first` to before `last`; and the one with the focus, which must not vanish.
const in_sight = () => {
  const top = list.getBoundingClientRect().top;
  const first = Math.max(0, Math.floor(-top / height) - AROUND);
  const last = Math.min(shown.length, Math.ceil((innerHeight - top) / height) + AROUND);
  const sight = new Set();
  for (let i = first; i < last; i++) sight.add(i);
  const held = document.activeElement?.closest?.(".row")?.dataset.name;
  if (held !== undefined && place.has(held)) sight.add(place.get(held));
  return sight;
};

const draw_rows = () => {
  const sight = in_sight(), at = now();
  const width = reach(60), has_lines = !narrow.matches && columns.lastElementChild.offsetWidth > 0;
  const minutes = Math.round(width / 60);
  write(columns.lastElementChild, "Ownership, last " + (minutes < 100 ? minutes + " min" : Math.round(minutes / 60) + " h"));
  for (const [name, node] of drawn) {
    if (sight.has(place.get(name))) continue;
    drawn.delete(name);
    node.remove();
    spare.push(node);
  }
  for (const i of sight) {
    const row = shown[i];
    let node = drawn.get(row.name);
    if (!node) {
      node = spare.pop() || new_row();
      drawn.set(row.name, node);
      list.append(node);
      if (has_lines && !histories.has(row.name)) want(row.name);
    }
    fill(node, row);
    node.style.transform = "translateY(" + i * height + "px)";
    mark(node, "aria-rowindex", offset + i + 2);
    mark(node, "aria-selected", row.name === opened);
    node.tabIndex = row.name === (place.has(cursor) ? cursor : shown[0].name) ? 0 : -1;
    pass(node, row, at);
    if (has_lines && looking_since !== null && histories.has(row.name)) {
      const spans = histories.get(row.name);
      if (node.svg.spans !== spans) mark(node.svg, "aria-label", told_of(spans));
      sketch(node.svg, spans);
      slide(node.svg, width);
    } else if (node.svg.spans) {
      node.svg.spans = null;
      node.svg.replaceChildren();
    }
  }
  spare.length = Math.min(spare.length, 40);
  arrange([...sight].sort((a, b) => a - b).map(i => drawn.get(shown[i].name)));
};

// In the order in which they are seen, for who listens. The row with the focus is not moved: it
// would lose it.
const arrange = nodes => {
  if (nodes.every((node, i) => list.children[i] === node)) return;
  const held = nodes.indexOf(document.activeElement.closest(".row"));
  nodes.forEach((node, i) => {
    if (i < held) list.insertBefore(node, nodes[held]);
    else if (i > held) list.append(node);
  });
};

// What says how many there are, and which of them.
const draw_around = () => {
  list.style.height = shown.length * height + "px";
  grid.dataset.view = view.kind;
  mark(grid, "aria-rowcount", (is_paged ? matched : shown.length) + 1);
  grid.hidden = shown.length === 0;
  const empty = find("empty"), is_filtered = Boolean(view.kind || view.search || view.state);
  empty.hidden = shown.length > 0;
  write(empty.firstElementChild, !has_rows ? (store && !store.reachable ? "Nothing was seen of the store yet." : "Asking the store…")
    : is_filtered ? "Nothing matches." : "Nothing is owned in this store.");
  find("clear").hidden = !is_filtered || !has_rows;
  find("first").hidden = is_filtered || !has_rows;
  write(find("count"), !has_rows ? "" : matched === total ? several(total, "row", "rows") : counted(matched) + " of " + counted(total));
  find("pager").hidden = !is_paged;
  if (is_paged) {
    write(find("range"), matched ? counted(offset + 1) + "–" + counted(offset + shown.length) : "none");
    find("before").disabled = offset === 0;
    find("after").disabled = offset + shown.length >= matched;
  }
  for (const head of columns.querySelectorAll("[data-sort]")) {
    const is_it = head.dataset.sort === view.sort;
    mark(head.parentElement, "aria-sort", is_it ? (view.order === "asc" ? "ascending" : "descending") : null);
  }
  write(find("order"), view.order === "asc" ? "↑" : "↓");
  mark(find("order"), "aria-label", view.order === "asc" ? "order: ascending" : "order: descending");
  for (const tab of find("tabs").children) {
    const is_it = tab.dataset.kind === view.kind;
    mark(tab, "aria-selected", is_it);
    tab.tabIndex = is_it ? 0 : -1;
    const count = tab.dataset.kind ? kinds[tab.dataset.kind] || 0 : total;
    // What most stores never have takes no room before it is there.
    tab.hidden = "seldom" in tab.dataset && !is_it && !count;
    write(tab.lastElementChild, has_rows ? counted(count) : "");
  }
};

// Another choice of rows: from the first page on, and from the top.
const look_for = change => {
  Object.assign(view, change);
  offset = 0;
  scrollTo(0, 0);
  if (is_paged) ask_page();
  draw(true);
};

const sort_by = sort => look_for(view.sort === sort ? { order: view.order === "asc" ? "desc" : "asc" } : { sort, order: sort === "waiters" || sort === "held" || sort === "changed" ? "desc" : "asc" });

const turn_page = by => {
  const to = offset + by * PAGE;
  if (!is_paged || to < 0 || to >= matched) return;
  offset = to;
  scrollTo(0, 0);
  ask_page();
};

// Moves the cursor to the row `i`, into sight, and gives it the focus.
const move_to = i => {
  if (!shown.length) return;
  i = Math.max(0, Math.min(shown.length - 1, i));
  cursor = shown[i].name;
  const above = narrow.matches ? find("tools").offsetHeight : find("top").offsetHeight + columns.offsetHeight;
  const top = list.getBoundingClientRect().top + i * height;
  if (top < above) scrollBy(0, top - above);
  else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
  draw_rows();
  drawn.get(cursor)?.focus({ preventScroll: true });
};

list.addEventListener("click", event => {
  const node = event.target.closest(".row");
  if (!node) return;
  cursor = node.dataset.name;
  const button = event.target.closest(".copy");
  if (button) copy(node.row.token, button);
  else open(cursor);
});
list.addEventListener("focusin", event => {
  const node = event.target.closest(".row");
  if (node) cursor = node.dataset.name;
});
addEventListener("scroll", () => draw(), { passive: true });
addEventListener("resize", () => {
  measure();
  draw(true);
  // Rows that were drawn while there was no room for their lines.
  if (!narrow.matches) for (const name of drawn.keys()) if (!histories.has(name)) want(name);
});
new ResizeObserver(() => { measure(); draw(); }).observe(find("top"));
columns.addEventListener("click", event => { if (event.target.dataset.sort) { sort_by(event.target.dataset.sort); find("sort").value = view.sort; } });
find("sort").addEventListener("change", event => sort_by(event.target.value));
find("order").addEventListener("click", () => sort_by(view.sort));
find("state").addEventListener("change", event => look_for({ state: event.target.value }));
find("window").addEventListener("change", () => draw());
find("before").addEventListener("click", () => turn_page(-1));
find("after").addEventListener("click", () => turn_page(1));
find("tabs").addEventListener("click", event => {
  const tab = event.target.closest("[role=tab]");
  if (tab) look_for({ kind: tab.dataset.kind });
});
let typing = 0;
find("search").addEventListener("input", event => {
  clearTimeout(typing);
  typing = setTimeout(() => look_for({ search: event.target.value.trim().toLowerCase() }), is_paged ? 250 : 60);
});
find("clear").addEventListener("click", () => {
  find("search").value = find("state").value = "";
  look_for({ kind: "", search: "", state: "" });
});
