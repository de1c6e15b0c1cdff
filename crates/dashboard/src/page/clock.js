// Three clocks: the page's own, which nothing sets; it stands while what is shown is old; and the
// wall clock of the dashboard's host, in which moments are told.

let stands = null, ahead = Date.now() - performance.now();
const now = () => stands ?? performance.now();
const wall = () => now() + ahead;
const is_now = (stamp, age = 0) => {
  const at = Date.parse(stamp) + age;
  if (!Number.isNaN(at)) ahead = at - performance.now();
};
