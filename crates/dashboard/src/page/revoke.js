// Takes a mutex from its owner, after the name was typed. Only where the server allows it.

const revoking = find("revoking"), typed = find("revoking-typed");
let meant = null;

// What cannot be seen cannot be typed: there it is what is shown that is typed.
const is_confirmed = () => meant !== null && (typed.value === meant.name || typed.value === plain(meant.name));

find("revoke").addEventListener("click", () => {
  meant = { name: opened_row.name, owner: opened_row.owner, token: opened_row.token };
  write(revoking.querySelector("h2 bdi"), plain(meant.name));
  write(find("revoking-owner"), plain(meant.owner));
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
    const answer = await ask("/api/v1/mutexes/" + encodeURIComponent(name) + "/revoke", {
      method: "POST",
      headers: { "content-type": "application/json", "x-tenure-request": "1" },
      body: JSON.stringify({ confirm: name, token, ...(token ? {} : { owner }) }),
    });
    if (!answer.revoked) throw new Error("it was free already");
    revoking.close();
    say(plain(name) + " was revoked from " + plain(owner));
  } catch (error) {
    const why = error.status === 409 ? "Its owner has changed meanwhile; nothing was revoked." : "Not revoked: " + plain(error.message);
    write(find("revoking-result"), why);
  }
});
