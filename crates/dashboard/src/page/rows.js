// A row of the list, and what changes in it while time passes.

const template = find("row").content.firstElementChild;
const PARTS = ["name", "owner", "token", "held", "lease", "waiters", "runs", "ran", "next", "line"];
const OUTCOMES = new Set(["done", "failed", "running", "unfinished", "skipped", "missed"]);

const new_row = () => {
  const node = template.cloneNode(true);
  for (const part of PARTS) node[part] = node.getElementsByClassName(part)[0];
  for (const part of ["name", "owner", "waiters"]) node[part].text = node[part].querySelector(".text");
  node.kind = node.querySelector(".kind");
  node.swatch = node.querySelector(".swatch");
  node.copy = node.querySelector(".copy");
  node.many = node.querySelector(".many");
  node.svg = node.querySelector("svg");
  node.bar = node.querySelector(".bar");
  node.left = node.querySelector(".left");
  return node;
};

const owner_of = row => row.fault ? (row.owner ? plain(row.owner) + ": " : "") + plain(row.fault) : row.owner ? plain(row.owner) : row.gone ? "free, no longer in the store" : "free";

// What stays until the next word about it.
const fill = (node, row) => {
  if (node.row === row) return;
  const was = node.row;
  node.row = row;
  node.className = "row" + (row.fault ? " faulty" : row.owner ? "" : " free");
  if (row.is_fresh && was?.name === row.name) {
    void node.offsetWidth; // begins the animation anew
    node.classList.add("fresh");
  }
  node.dataset.name = row.name;
  node.dataset.kind = kind_of(row);
  write(node.name.text, plain(row.name));
  node.name.text.title = plain(row.name);
  write(node.kind, row.kind || "");
  write(node.owner.text, owner_of(row));
  node.owner.text.title = owner_of(row);
  swatch(node.swatch, row.owner);
  node.copy.hidden = !row.token;
  if (row.token) {
    if (node.copy.dataset.was) node.copy.dataset.was = shortened(row.token); // "copied" gives way to it
    else write(node.copy, shortened(row.token));
    node.copy.title = "token " + row.token + ": copy";
    mark(node.copy, "aria-label", "token " + row.token + ", copy");
  }
  node.classList.toggle("unleased", row.ends === null);
  write(node.many, row.waiters.length ? counted(row.waiters.length) : "");
  const waiters = row.waiters.map(plain).join(", ");
  write(node.waiters.text, waiters || "");
  node.waiters.text.title = row.waiters.map((id, i) => i + 1 + ". " + plain(id)).join("\n");
  fill_runs(node.runs, row.runs || []);
};

const said_of_run = run => moment(Date.parse(run.at)) + ": " + plain(run.outcome || "not known")
  + (run.late_ms ? ", " + exact(run.late_ms) + " late" : "") + (run.duration_ms == null ? "" : ", took " + exact(run.duration_ms));

const fill_runs = (node, runs) => {
  node.replaceChildren(...runs.slice(-20).map(run => {
    const made = make("i", OUTCOMES.has(run.outcome) ? run.outcome : "");
    if (run.late_ms > 1000) made.classList.add("late");
    made.title = said_of_run(run);
    return made;
  }));
  const last = runs.at(-1);
  mark(node, "aria-label", last ? several(runs.length, "run", "runs") + " known; the last " + said_of_run(last) : null);
};

// What changes with time: four times a second, for the rows in sight only.
const pass = (node, row, at) => {
  write(node.held, row.began === null ? "" : whole(at - row.began));
  pass_lease(node.bar, node.left, row, at);
  if (row.runs || row.next_run) {
    const last = row.runs?.at(-1);
    write(node.ran, last ? whole(wall() - Date.parse(last.at)) + " ago" + (last.duration_ms == null ? "" : ", took " + exact(last.duration_ms)) : "–");
    pass_next(node.next, row);
  } else if (kind_of(row) === "schedule") {
    write(node.ran, "–");
    write(node.next, "–");
  }
};

const pass_lease = (bar, left, row, at) => {
  if (row.ends === null) return;
  const rest = Math.max(0, row.ends - at), part = Math.min(1, rest / row.full);
  bar.firstElementChild.style.transform = "scaleX(" + part.toFixed(4) + ")";
  const kind = part < .08 ? "bar out" : part < .25 ? "bar low" : "bar";
  if (bar.className !== kind) bar.className = kind;
  mark(bar, "aria-valuemax", Math.round(row.full / 1000));
  mark(bar, "aria-valuenow", Math.round(rest / 1000));
  mark(bar, "aria-valuetext", Math.round(rest / 1000) + " s left of " + brief(row.full));
  write(left, brief(rest));
};

const pass_next = (node, row) => {
  const due = Date.parse(row.next_run), until = due - wall();
  const is_late = row.late_from != null;
  const text = is_late ? whole(now() - row.late_from) + " late" : Number.isNaN(due) ? "–" : until < 1000 ? "due now" : "in " + whole(until);
  write(node, text);
  node.classList.toggle("late-word", is_late);
  node.title = Number.isNaN(due) ? "" : moment(due);
};
