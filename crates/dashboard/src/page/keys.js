// Everything by keys, and the beginning.

const at_cursor = () => place.has(cursor) ? place.get(cursor) : -1;
const a_page = () => Math.max(1, Math.floor((innerHeight - 200) / height));
const walk_to = i => {
  move_to(i);
  // Who has the detail open walks through the details.
  if (opened !== null && cursor !== null && !narrow.matches) open(cursor, { keeps_focus: true });
};
// From the cursor, or else to the first row in sight.
const step = by => {
  const at = at_cursor();
  walk_to(at < 0 ? Math.max(0, Math.ceil(-list.getBoundingClientRect().top / height)) : at + by);
};

const KEYS = {
  "/": () => { find("search").focus(); find("search").select(); },
  "?": () => find("keys").showModal(),
  t: change_theme,
  c: () => { const row = rows.get(opened ?? cursor); if (row?.token) copy(row.token, drawn.get(row.name)?.copy); },
  "[": () => turn_page(-1),
  "]": () => turn_page(1),
};
const MOVES = {
  ArrowDown: () => step(1), j: () => step(1),
  ArrowUp: () => step(-1), k: () => step(-1),
  PageDown: () => step(a_page()), PageUp: () => step(-a_page()),
  Home: () => walk_to(0), End: () => walk_to(shown.length - 1),
};

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  const { key, target } = event, is_field = target.matches?.("input, select, textarea");
  if (key === "Escape") {
    if (target.id === "search" && target.value) { target.value = ""; look_for({ search: "" }); }
    else if (opened !== null) close();
    else if (target.id === "search") target.blur();
    else return;
    event.preventDefault();
    return;
  }
  if (target.id === "search" && (key === "ArrowDown" || key === "Enter")) {
    event.preventDefault();
    move_to(0);
    return;
  }
  if (is_field) return;
  const tab = target.closest?.("[role=tab]");
  if (tab && (key === "ArrowRight" || key === "ArrowLeft")) {
    const tabs = [...find("tabs").children];
    const next = tabs[(tabs.indexOf(tab) + (key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
    next.focus();
    next.click();
    event.preventDefault();
    return;
  }
  if (key === "Enter" && target.classList?.contains("row")) {
    open(target.dataset.name);
    event.preventDefault();
    return;
  }
  // Inside the detail the arrows scroll it.
  const move = Object.hasOwn(MOVES, key) && !detail.contains(target) && MOVES[key];
  const act = move || Object.hasOwn(KEYS, key) && KEYS[key];
  if (!act) return;
  event.preventDefault();
  act();
});
find("help").addEventListener("click", () => find("keys").showModal());

measure();
if (named() !== null) open(named(), { is_there: true, keeps_focus: true });
draw(true);
listen();
