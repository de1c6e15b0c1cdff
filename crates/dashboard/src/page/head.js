// The head: the store, how it is, and how old what is shown is.

let last_word = 0, is_connected = true, is_back = false;

const trouble = () => {
  if (!is_connected && is_back) return "This page was not looked at for a while, and asks again.";
  if (!is_connected) return "The dashboard's server does not answer; it is asked again.";
  if (store && !store.reachable) return "The store does not answer" + (store.error ? ": " + plain(store.error).replace(/[.;:]$/, "") : "") + ".";
  return null;
};

const fill_head = () => {
  const why = trouble(), was_old = document.body.classList.contains("old");
  // What is old stands still as it was last seen.
  if (why && stands === null) stands = last_word;
  if (!why) stands = null;
  document.body.classList.toggle("old", Boolean(why));
  if (Boolean(why) !== was_old) say(why || "the store is well");
  pass_head();
  if (!store) return;
  const missing = (store.unknown || []).map(what => "not known now, shown as seen before: " + what);
  if (store.cut) missing.unshift("not all is shown: " + store.cut);
  find("missing").hidden = !missing.length;
  write(find("missing"), plain(missing.join("; ")));
  write(find("store"), plain(store.store));
  find("store").title = plain(store.store) + (store.version ? "; tenure " + plain(store.version) : "");
  document.title = (why ? "! " : "") + "tenure · " + plain(store.store);
  const health = find("health");
  write(health, !is_connected ? "not known" : !store.reachable ? "not reachable" : store.error ? "in trouble" : "well");
  health.className = !is_connected || !store.reachable ? "bad" : store.error ? "warn" : "good";
  health.title = plain(store.error || "");
  write(find("latency"), store.latency_ms == null ? "–" : store.latency_ms < 10 ? store.latency_ms.toFixed(1) + " ms" : Math.round(store.latency_ms) + " ms");
  const apart = store.clock_difference_ms;
  write(find("clock"), apart == null ? "–" : (apart > 0 ? "+" : apart < 0 ? "−" : "±") + (Math.abs(apart) < 1000 ? Math.round(Math.abs(apart)) + " ms" : brief(Math.abs(apart))));
  find("clock").classList.toggle("warn", Math.abs(apart || 0) >= 1000);
};

const pass_head = () => {
  const why = trouble(), notice = find("notice"), age = performance.now() - last_word;
  notice.hidden = !why;
  if (why) write(notice, why + (last_word ? " What is shown was last seen at " + moment(last_word + ahead) + ", " + whole(age) + " ago." : ""));
  if (last_word) write(find("refreshed"), CLOCK.format(new Date(last_word + ahead)) + (age > 6000 ? " · " + whole(age) + " ago" : ""));
};

// As the system has it, or as it was chosen; kept for the next visit where that is allowed.
const THEMES = ["auto", "light", "dark"];
let worn = "auto";
const remembered = () => { try { return localStorage.getItem("tenure-theme"); } catch { return null; } };
const wear = theme => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  worn = theme;
  write(find("theme"), "◐ " + theme);
  mark(find("theme"), "aria-label", "colours: " + theme);
  find("theme").title = "colours: " + theme;
};
const change_theme = () => {
  const next = THEMES[(THEMES.indexOf(worn) + 1) % THEMES.length];
  wear(next);
  try { localStorage.setItem("tenure-theme", next); } catch { /* for this visit only */ }
};
wear(THEMES.includes(remembered()) ? remembered() : "auto");
find("theme").addEventListener("click", change_theme);
