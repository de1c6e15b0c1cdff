//! Where the messages of a client end.

/// What is spoken over a connection, so that messages can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// PostgreSQL's protocol, not encrypted.
    Postgres,
    /// That of MySQL and MariaDB, neither encrypted nor compressed.
    MySql,
}

/// Finds the ends of messages in what a client sends.
#[derive(Debug)]
pub(super) struct Messages {
    speech: Speech,
    /// PostgreSQL's first messages have no type.
    has_begun: bool,
    head: Vec<u8>,
    /// Of the present message, after its head.
    left: usize,
}

impl Messages {
    pub(super) fn of(speech: Speech) -> Self {
        Messages {
            speech,
            has_begun: false,
            head: Vec::new(),
            left: 0,
        }
    }

    /// Behind which of `bytes`, the next of the stream, a message ends.
    pub(super) fn ends(&mut self, bytes: &[u8]) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            if self.left == 0 {
                self.head.push(bytes[at]);
                at += 1;
                let Some(left) = self.rest_of_message() else {
                    continue;
                };
                self.head.clear();
                self.left = left;
            }
            let step = self.left.min(bytes.len() - at);
            self.left -= step;
            at += step;
            if self.left == 0 {
                ends.push(at);
            }
        }
        ends
    }

    /// How much follows the head, once it is whole.
    fn rest_of_message(&mut self) -> Option<usize> {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | *byte as usize);
        let head = &self.head;
        match self.speech {
            Speech::MySql if head.len() == 4 => {
                Some(head[0] as usize | (head[1] as usize) << 8 | (head[2] as usize) << 16)
            }
            Speech::Postgres if self.has_begun && head.len() == 5 => {
                Some(number(&head[1..]).saturating_sub(4))
            }
            Speech::Postgres if !self.has_begun && head.len() == 8 => {
                // Asking for encryption comes before the beginning.
                let asks = [80_877_103, 80_877_104].contains(&number(&head[4..]));
                self.has_begun = !asks;
                Some(number(&head[..4]).saturating_sub(8))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(speech: Speech, bytes: &[u8], piece: usize) -> Vec<usize> {
        let mut messages = Messages::of(speech);
        let mut all = Vec::new();
        for (number, piece_of) in bytes.chunks(piece).enumerate() {
            let found = messages.ends(piece_of);
            all.extend(found.into_iter().map(|at| number * piece + at));
        }
        all
    }

    #[test]
    fn messages_end_where_they_do_however_they_arrive() {
        let asks = [&8_u32.to_be_bytes()[..], &80_877_103_u32.to_be_bytes()].concat();
        let starts = [
            &12_u32.to_be_bytes()[..],
            &196_608_u32.to_be_bytes(),
            b"u\0d\0",
        ]
        .concat();
        let postgres = [&asks[..], &starts, b"Q\0\0\0\x06x\0", b"S\0\0\0\x04"].concat();
        let mysql = b"\x02\0\0\x01ab\0\0\0\0\x01\0\0\0c".to_vec();
        for piece in 1..40 {
            assert_eq!(ends(Speech::Postgres, &postgres, piece), [8, 20, 27, 32]);
            assert_eq!(ends(Speech::MySql, &mysql, piece), [6, 10, 15]);
        }
    }
}
