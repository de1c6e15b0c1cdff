//! What is typed while a view has the screen.

use std::io::{self, IsTerminal};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

/// A key that means something to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    Left,
    Right,
    First,
    Last,
    PageUp,
    PageDown,
    Enter,
    Escape,
    Backspace,
    Letter(char),
}

/// What follows an escape belongs to it if it comes this soon: terminals send a
/// sequence at once, and a person does not type so fast.
const SEQUENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The keys that are typed from now on. Only once for the program: the thread
/// that reads goes on until it ends.
#[derive(Debug)]
pub(crate) struct Keys(mpsc::UnboundedReceiver<Key>);

impl Keys {
    pub(crate) fn listen() -> Self {
        let (tell, keys) = mpsc::unbounded_channel();
        if io::stdin().is_terminal() {
            std::thread::spawn(move || listen(&tell));
        }
        Self(keys)
    }

    /// The next one; never where there is no keyboard.
    pub(crate) async fn next(&mut self) -> Key {
        match self.0.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

/// Tells each key until the terminal or the view is gone.
fn listen(tell: &mpsc::UnboundedSender<Key>) {
    let (stdin, mut typed) = (io::stdin(), Typed::default());
    let mut bytes = [0; 64];
    loop {
        let mut keys = Vec::new();
        if typed.is_escape() && !has_more(&stdin) {
            keys.extend(typed.alone());
        } else {
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return,
                Ok(length) => keys.extend(bytes[..length].iter().filter_map(|it| typed.key(*it))),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        for key in keys {
            if tell.send(key).is_err() {
                return;
            }
        }
    }
}

/// Whether more of a sequence has come.
fn has_more(stdin: &io::Stdin) -> bool {
    let mut waited = [PollFd::new(stdin, PollFlags::IN)];
    poll(&mut waited, Some(&SEQUENCE)) != Ok(0)
}

/// Returns when the user asks for the end.
pub(crate) async fn asked_to_quit() {
    let mut keys = Keys::listen();
    while !keys.next().await.is_quit() {}
}

impl Key {
    /// Whether it ends a view.
    pub(crate) fn is_quit(self) -> bool {
        matches!(self, Self::Letter('q' | 'Q'))
    }
}

const ESCAPE: u8 = 0x1b;

/// What has come of a sequence such as `ESC [ A`, or of a letter of several
/// bytes.
#[derive(Debug, Default)]
struct Typed(Vec<u8>);

impl Typed {
    /// Whether an escape has come, of which it is not known whether it is a
    /// key or begins a sequence.
    fn is_escape(&self) -> bool {
        self.0 == [ESCAPE]
    }

    /// What has come is all that there is: an escape is a key.
    fn alone(&mut self) -> Option<Key> {
        let is_escape = self.is_escape();
        self.0.clear();
        is_escape.then_some(Key::Escape)
    }

    /// The key that `byte` completes.
    fn key(&mut self, byte: u8) -> Option<Key> {
        if byte == ESCAPE {
            let before = self.alone();
            self.0 = vec![ESCAPE];
            return before;
        }
        match self.0.as_slice() {
            [] => {}
            [ESCAPE] if matches!(byte, b'[' | b'O') => {
                self.0.push(byte);
                return None;
            }
            // A key with Alt.
            [ESCAPE] => {
                self.0.clear();
                return None;
            }
            [ESCAPE, ..] => return self.end_of_sequence(byte),
            _ => return self.letter(byte),
        }
        match byte {
            b'\n' | b'\r' => Some(Key::Enter),
            0x08 | 0x7f => Some(Key::Backspace),
            0..0x20 => None,
            byte => self.letter(byte),
        }
    }

    fn end_of_sequence(&mut self, byte: u8) -> Option<Key> {
        let is_number = byte.is_ascii_digit() || byte == b';';
        // A flood of digits is no key.
        if is_number && self.0.len() < 8 {
            self.0.push(byte);
            return None;
        }
        let number = self.0.get(2).copied();
        self.0.clear();
        match (byte, number) {
            (b'A', _) => Some(Key::Up),
            (b'B', _) => Some(Key::Down),
            (b'C', _) => Some(Key::Right),
            (b'D', _) => Some(Key::Left),
            (b'H', _) | (b'~', Some(b'1' | b'7')) => Some(Key::First),
            (b'F', _) | (b'~', Some(b'4' | b'8')) => Some(Key::Last),
            (b'~', Some(b'5')) => Some(Key::PageUp),
            (b'~', Some(b'6')) => Some(Key::PageDown),
            _ => None,
        }
    }

    /// The letter that `byte` completes. What is none is forgotten.
    fn letter(&mut self, byte: u8) -> Option<Key> {
        const LONGEST: usize = 4;
        self.0.push(byte);
        let letter = match std::str::from_utf8(&self.0) {
            Ok(text) => text.chars().next().map(Key::Letter),
            Err(error) if error.error_len().is_none() && self.0.len() < LONGEST => return None,
            Err(_) => None,
        };
        self.0.clear();
        letter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut typed = Typed::default();
        bytes.iter().filter_map(|byte| typed.key(*byte)).collect()
    }

    #[test]
    fn keys_are_known_by_what_terminals_send_for_them() {
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[C\x1bOD"),
            [Key::Up, Key::Down, Key::Right, Key::Left]
        );
        assert_eq!(
            keys(b"\x1b[H\x1b[1~\x1b[4~\x1bOF\x1b[5~\x1b[6~"),
            [
                Key::First,
                Key::First,
                Key::Last,
                Key::Last,
                Key::PageUp,
                Key::PageDown
            ]
        );
        assert_eq!(keys(b"\x1b[1;5A\r\n"), [Key::Up, Key::Enter, Key::Enter]);
        assert_eq!(keys(b"\x7f\x08"), [Key::Backspace, Key::Backspace]);
        assert_eq!(keys(b"\x1b[9q"), [], "the end of a sequence is no key");
    }

    #[test]
    fn letters_of_several_bytes_are_one_key() {
        assert_eq!(
            keys("a\u{e9}\u{6ce8}\u{1f512}".as_bytes()),
            ['a', '\u{e9}', '\u{6ce8}', '\u{1f512}'].map(Key::Letter)
        );
        assert_eq!(keys(b"\xff\xc3(a"), [Key::Letter('a')], "no letters");
        assert_eq!(keys(b"\x01\x1a"), [], "nor these");
    }

    #[test]
    fn an_escape_is_a_key_when_nothing_follows() {
        let mut typed = Typed::default();
        assert_eq!(typed.key(0x1b), None);
        assert!(typed.is_escape());
        assert_eq!(typed.alone(), Some(Key::Escape));
        assert!(!typed.is_escape());
        assert_eq!(typed.alone(), None);
        assert_eq!(keys(b"\x1b\x1b[A"), [Key::Escape, Key::Up]);
        assert_eq!(keys(b"\x1bq"), [], "with Alt it is another key");
    }
}
