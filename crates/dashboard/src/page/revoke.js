// Takes a mutex from its owner, after the name was typed. Only where the server allows it.

const revoking = find("revoking"), typed = find("revoking-typed");
let meant = null;

// What cannot be seen cannot be typed: there it is what is shown that is typed.
const is_confirmed = () => meant !== null && (typed.value === meant.name || typed.value === plain(meant.name));

find("revoke").addEventListener("click", () => {
  const { name, owner, fault } = opened_row;
  // What is damaged has no token to be trusted.
  meant = { name, owner, token: fault ? null : opened_row.token };
  write(revoking.querySelector("h2 bdi"), plain(meant.name));
  write(find("revoking-owner"), meant.owner ? plain(meant.owner) : "whoever has it");
  write(find("revoking-result"), "");
  typed.value = "";
  find("revoking-go").disabled = true;
  revoking.showModal();
  typed.focus();
});
typed.addEventListener("input", () => { find("revoking-go").disabled = !is_confirmed(); });
find("revoking-cancel").addEventListener("click", () => revoking.close());
revoking.addEventListener("close", () => { meant = null; });

revoking.querySelector("form").addEventListener("submit", async event => {
  event.preventDefault();
  if (!is_confirmed()) return;
  find("revoking-go").disabled = true;
  const { name, owner, token } = meant;
  try {
    const answer = await ask("/api/v1/mutex/revoke?name=" + encodeURIComponent(name), {
      method: "POST",
      headers: { "content-type": "application/json", "x-tenure-request": "1" },
      body: JSON.stringify({ confirm: name, token, ...(token || !owner ? {} : { owner }) }),
    });
    if (!answer.revoked) throw new Error("it was free already");
    revoking.close();
    say(plain(name) + " was revoked" + (owner ? " from " + plain(owner) : ""));
  } catch (error) {
    // Without an answer of the server, or of its store (504), it is not known what was done.
    const how = error.status === undefined ? "It may have been revoked, look again: " : error.status === 504 ? "Look again: " : "Not revoked: ";
    write(find("revoking-result"), how + plain(error.message));
  }
});
