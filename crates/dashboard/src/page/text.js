// Names and ids are other people's: they become text, never markup.

const find = id => document.getElementById(id);

// What cannot be seen, or turns the order of letters around, is shown as its number.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
const number_of = c => "\\u{" + c.codePointAt(0).toString(16) + "}";
const plain = text => text.replace(HIDDEN, number_of).replace(/^ +| +$/g, ends => number_of(" ").repeat(ends.length));

// Writes only what differs: most of what is drawn again is as it was.
const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const mark = (node, name, value) => {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};

const make = (tag, kind, text) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
};

const brief = ms => {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return s.toFixed(1) + " s";
  const m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  const two = n => String(n).padStart(2, "0");
  if (d) return d + " d " + two(h % 24) + " h";
  return h ? h + " h " + two(m % 60) + " min" : m + " min " + two(Math.floor(s % 60)) + " s";
};

// With milliseconds, for what is over.
const exact = ms => ms < 1000 ? Math.round(ms) + " ms" : brief(ms);
// Without tenths, for what only grows.
const whole = ms => ms < 60_000 ? Math.floor(Math.max(0, ms) / 1000) + " s" : brief(ms);
const counted = n => n.toLocaleString("en");
const several = (n, one, many) => counted(n) + " " + (n === 1 ? one : many);

// Tokens rise: it is the end that tells one from the next.
const shortened = token => token.length > 8 ? "…" + token.slice(-7) : token;

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
// A moment as people here write it, with its day where that is not today.
const moment = ms => {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "–";
  const today = new Date().toDateString() === at.toDateString();
  return (today ? "" : DAY.format(at) + ", ") + CLOCK.format(at);
};

// The same owner has the same of eight colours everywhere.
const colour = owner => {
  let hash = 0;
  for (let i = 0; i < owner.length; i++) hash = (hash * 31 + owner.charCodeAt(i)) >>> 0;
  return "o" + ((hash ^ hash >>> 11) >>> 0) % 8;
};
const swatch = (node, owner) => { node.className = owner ? "swatch o " + colour(owner) : "swatch"; };

// For who listens instead of looking. Said together if they come together.
let unsaid = [], saying = 0;
const say = text => {
  unsaid.push(text);
  saying ||= setTimeout(() => {
    write(find("spoken"), unsaid.length > 3 ? unsaid.length + " changes; " + unsaid.at(-1) : unsaid.join("; "));
    unsaid = []; saying = 0;
  }, 1500);
};

const copy = async (text, button) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Beyond loopback without TLS there is no clipboard to write to.
    const field = document.body.appendChild(make("textarea", "unseen"));
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
    button?.focus();
  }
  say("copied");
  if (!button || button.dataset.was) return;
  button.dataset.was = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = button.dataset.was; delete button.dataset.was; }, 900);
};
