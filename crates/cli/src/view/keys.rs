//! What is typed while a view has the screen.

use std::io::{self, IsTerminal, Read};

use tokio::sync::mpsc;

/// A key that means something to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Quit,
    Up,
    Down,
    First,
    Last,
    Enter,
}

/// The keys that are typed from now on. Only once for the program: the thread
/// that reads goes on until it ends.
#[derive(Debug)]
pub(crate) struct Keys(mpsc::UnboundedReceiver<Key>);

impl Keys {
    pub(crate) fn listen() -> Self {
        let (tell, keys) = mpsc::unbounded_channel();
        if io::stdin().is_terminal() {
            std::thread::spawn(move || {
                let mut typed = Typed::default();
                let bytes = io::stdin().lock().bytes().map_while(Result::ok);
                for key in bytes.filter_map(|byte| typed.key(byte)) {
                    if tell.send(key).is_err() {
                        return;
                    }
                }
            });
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

/// Returns when the user asks for the end.
pub(crate) async fn asked_to_quit() {
    let mut keys = Keys::listen();
    while keys.next().await != Key::Quit {}
}

/// What has come of a sequence such as `ESC [ A`.
#[derive(Debug, Default)]
struct Typed(Vec<u8>);

impl Typed {
    /// The key that `byte` completes.
    fn key(&mut self, byte: u8) -> Option<Key> {
        const ESCAPE: u8 = 0x1b;
        if byte == ESCAPE {
            self.0 = vec![ESCAPE];
            return None;
        }
        match self.0.as_slice() {
            [] => {}
            [ESCAPE] if matches!(byte, b'[' | b'O') => {
                self.0.push(byte);
                return None;
            }
            // Escape alone, and then another key.
            [_] => self.0.clear(),
            _ => {
                let is_number = byte.is_ascii_digit() || byte == b';';
                // A flood of digits is no key.
                if is_number && self.0.len() < 8 {
                    self.0.push(byte);
                    return None;
                }
                let number = self.0.get(2).copied();
                self.0.clear();
                return match (byte, number) {
                    (b'A', _) => Some(Key::Up),
                    (b'B', _) => Some(Key::Down),
                    (b'H', _) | (b'~', Some(b'1' | b'7')) => Some(Key::First),
                    (b'F', _) | (b'~', Some(b'4' | b'8')) => Some(Key::Last),
                    _ => None,
                };
            }
        }
        match byte {
            b'q' | b'Q' => Some(Key::Quit),
            b'k' => Some(Key::Up),
            b'j' => Some(Key::Down),
            b'g' => Some(Key::First),
            b'G' => Some(Key::Last),
            b'\n' | b'\r' => Some(Key::Enter),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_terminals_send_for_them() {
        let keys = |bytes: &[u8]| -> Vec<Key> {
            let mut typed = Typed::default();
            bytes.iter().filter_map(|byte| typed.key(*byte)).collect()
        };
        assert_eq!(
            keys(b"\x1b[A\x1bOBkj"),
            [Key::Up, Key::Down, Key::Up, Key::Down]
        );
        assert_eq!(
            keys(b"\x1b[H\x1b[1~\x1b[4~\x1bOF"),
            [Key::First, Key::First, Key::Last, Key::Last]
        );
        assert_eq!(keys(b"\x1b[1;5A\r\n"), [Key::Up, Key::Enter, Key::Enter]);
        assert_eq!(
            keys(b"xyz\x1b[3~\x1bq"),
            [Key::Quit],
            "escape alone is nothing"
        );
        assert_eq!(keys(b"\x1b[9q"), [], "the end of a sequence is no key");
    }
}
