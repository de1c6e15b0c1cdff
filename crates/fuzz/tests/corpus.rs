//! Everything that a fuzzer found worth keeping, and what made it stop.

use tenure_fuzz::{TARGETS, corpus};

#[test]
fn nothing_that_was_kept_panics_or_hangs() {
    for target in TARGETS {
        let inputs = corpus::read(target.name).unwrap();
        assert!(!inputs.is_empty(), "nothing is kept for {}", target.name);
        for input in &inputs {
            (target.run)(input);
        }
        println!("{}: {} inputs", target.name, inputs.len());
    }
}

#[test]
fn what_is_kept_is_small() {
    let length = |name: &str| std::fs::metadata(corpus::file(name)).unwrap().len();
    let all: u64 = TARGETS.iter().map(|target| length(target.name)).sum();
    assert!(all < 500_000, "{all} bytes");
}

/// What is kept, changed here and there from a fixed seed: a fuzzer that does not look
/// where it is going, in every run. `TENURE_FUZZ_CHANGES` says how often.
#[test]
fn nothing_that_is_nearly_so_panics_or_hangs() {
    let times = std::env::var("TENURE_FUZZ_CHANGES");
    let times: u64 = times.ok().and_then(|it| it.parse().ok()).unwrap_or(20_000);
    for target in TARGETS {
        let kept = corpus::read(target.name).unwrap();
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        for _ in 0..times {
            let input = changed(&kept, &mut chance);
            let ran = std::panic::catch_unwind(|| (target.run)(&input));
            assert!(ran.is_ok(), "{}: {}", target.name, input.escape_ascii());
        }
    }
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 1).unwrap_or_default() % limit.max(1)
    }
}

/// One of `kept` after up to four changes.
fn changed(kept: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    const PIECES: [&[u8]; 12] = [
        b"-1",
        b"0",
        b"18446744073709551615",
        b"9223372036854775808",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\0\0\0\0\0\0\0\x80",
        b"@@",
        b"\r\n",
        b"%",
        b"[::",
        b"\xc3\xa4",
        b"\0",
    ];
    let mut input = kept[chance.below(kept.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(input.len() + 1);
        let end = (at + chance.below(9)).min(input.len());
        match chance.below(5) {
            0 if at < input.len() => input[at] = u8::try_from(chance.below(256)).unwrap(),
            1 => drop(input.drain(at..end)),
            2 => drop(input.splice(at..end, PIECES[chance.below(12)].iter().copied())),
            3 => {
                let piece = input[at..end].to_vec();
                drop(input.splice(at..at, piece));
            }
            _ => {
                let other = &kept[chance.below(kept.len())];
                input.truncate(at);
                input.extend_from_slice(&other[chance.below(other.len() + 1)..]);
            }
        }
    }
    input
}

/// The requests reach the pages, and what is asserted of the answers can be false.
#[test]
fn requests_are_heard_and_answered() {
    use tenure_dashboard::site::fuzzing::{MUTEX, TOKEN, visit};

    let ask = |needs_token, headers: &str| {
        let request = format!("GET /api/v1/mutexes HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let answer = visit(needs_token, request.as_bytes()).answer;
        String::from_utf8_lossy(&answer).into_owned()
    };
    let open = ask(false, "");
    assert!(
        open.starts_with("HTTP/1.1 200 ") && open.contains(MUTEX),
        "{open}"
    );
    let closed = ask(true, "");
    assert!(
        closed.starts_with("HTTP/1.1 401 ") && !closed.contains(MUTEX),
        "{closed}"
    );
    let known = ask(true, &format!("Authorization: Bearer {TOKEN}\r\n"));
    assert!(known.contains(MUTEX), "{known}");
}
