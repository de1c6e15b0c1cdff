// Who owned a mutex when. Drawn once in seconds since the server began to look; time passes by
// moving the box through which it is seen.

const ALWAYS = 1e9;
const SVG = document.querySelector("svg").namespaceURI;
const histories = new Map();
let looking_since = null;

const shape = (svg, tag, kind, place) => {
  const made = document.createElementNS(SVG, tag);
  made.setAttribute("class", kind);
  for (const [name, value] of Object.entries(place)) made.setAttribute(name, value);
  svg.append(made);
  return made;
};

const ENDS = { freed: "released", handed: "handed over", expired: "lost", revoked: "revoked", unknown: "not known" };

const sketch = (svg, spans) => {
  if (svg.spans === spans && svg.base === looking_since) return;
  svg.spans = spans; svg.base = looking_since;
  svg.replaceChildren();
  const base = looking_since;
  shape(svg, "rect", "unlooked", { x: -ALWAYS, y: 0, width: ALWAYS, height: 20 });
  shape(svg, "line", "nobody", { x1: 0, x2: ALWAYS, y1: 10, y2: 10 });
  for (const span of spans) {
    const from = Math.max(0, (Date.parse(span.from) - base) / 1000);
    const until = span.until ? (Date.parse(span.until) - base) / 1000 : ALWAYS;
    const kind = colour(span.owner) + (span.ended === "unknown" ? " unknown" : "");
    shape(svg, "rect", kind, { x: from, y: 3, width: Math.max(0, until - from), height: 14 });
  }
  // Above all spans: what happened between them.
  for (const span of spans) {
    const at = stamp => (Date.parse(stamp) - base) / 1000;
    if (span.began === "handed") upright(svg, "handed", at(span.from));
    if (span.ended === "expired" || span.ended === "revoked") upright(svg, span.ended, at(span.until));
  }
};

const upright = (svg, kind, x) => shape(svg, "line", "mark-" + kind, { x1: x, x2: x, y1: 0, y2: 20 });

// How many seconds are seen: as many as were chosen, or else all in which the server has looked.
const reach = least => Math.max(least, Math.min(Number(find("window").value), (wall() - looking_since) / 1000 * 1.02));
const slide = (svg, width) => {
  const end = (wall() - looking_since) / 1000;
  svg.setAttribute("viewBox", (end - width) + " 0 " + width + " 20");
};

const told_of = spans => {
  if (!spans.length) return "nobody owned it since the server began to look";
  const owners = new Set(spans.map(span => span.owner)).size;
  const lost = spans.filter(span => span.ended === "expired" || span.ended === "revoked").length;
  return several(spans.length, "tenure", "tenures") + " of " + several(owners, "owner", "owners") + (lost ? ", " + lost + " lost" : "");
};

// Histories of the rows in sight, asked for together.
let wanted = new Set(), asking = 0;
const want = name => {
  wanted.add(name);
  asking ||= setTimeout(ask_histories, 120);
};
const ask_histories = async () => {
  const here = [...wanted].filter(name => place.has(name)), names = here.slice(0, 50);
  // The others in the next turn.
  wanted = new Set(here.slice(50));
  try {
    if (names.length) {
      const answer = await ask("/api/v1/history?names=" + names.map(encodeURIComponent).join(","));
      is_now(answer.now);
      looking_since = Date.parse(answer.looking_since);
      // A name may be that of something which every object has.
      for (const name of names) histories.set(name, Object.hasOwn(answer.histories, name) ? answer.histories[name] : []);
      draw();
    }
  } catch {
    // It is asked for again with the next change.
  }
  asking = 0;
  if (wanted.size) asking = setTimeout(ask_histories, 500);
};
