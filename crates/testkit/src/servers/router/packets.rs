//! The packets of MySQL's protocol, as far as a router must understand them.

use std::io::{self, Read, Write};
use std::net::TcpStream;

pub(super) const QUIT: u8 = 0x01;
pub(super) const QUERY: u8 = 0x03;
pub(super) const PREPARE: u8 = 0x16;
pub(super) const EXECUTE: u8 = 0x17;
pub(super) const LONG_DATA: u8 = 0x18;
pub(super) const CLOSE: u8 = 0x19;

const ERROR: u8 = 0xff;
const END: u8 = 0xfe;
const MORE_RESULTS: u16 = 0x0008;
/// Of a client's or a server's capabilities: no packet marks the end of columns.
pub(super) const DEPRECATE_EOF: u32 = 1 << 24;

/// A packet: its head of four bytes, and its body.
#[derive(Clone, Debug)]
pub(super) struct Packet(pub(super) Vec<u8>);

impl Packet {
    pub(super) fn new(number: u8, body: &[u8]) -> Self {
        let [low, middle, high, _] = (body.len() as u32).to_le_bytes();
        Self([&[low, middle, high, number], body].concat())
    }

    pub(super) fn read(from: &mut TcpStream) -> io::Result<Self> {
        let mut bytes = vec![0; 4];
        from.read_exact(&mut bytes)?;
        let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        bytes.resize(4 + length, 0);
        from.read_exact(&mut bytes[4..])?;
        Ok(Self(bytes))
    }

    pub(super) fn send(&self, to: &mut TcpStream) -> io::Result<()> {
        to.write_all(&self.0)
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.0[4..]
    }

    pub(super) fn first(&self) -> u8 {
        self.body().first().copied().unwrap_or(0)
    }

    /// The number of a statement, in the packets that begin with a byte and have it next.
    pub(super) fn statement(&self) -> Option<u32> {
        let number = self.body().get(1..5)?.try_into().ok()?;
        Some(u32::from_le_bytes(number))
    }

    pub(super) fn with_statement(mut self, number: u32) -> Self {
        self.0[5..9].copy_from_slice(&number.to_le_bytes());
        self
    }

    fn is_end(&self) -> bool {
        self.first() == END && self.body().len() < 0xff_ffff
    }

    fn two_bytes(&self, at: usize) -> u16 {
        let bytes = self.body().get(at..at + 2);
        bytes.map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Whether another result follows the one that this packet ends.
    fn has_more(&self, has_eof: bool) -> bool {
        let status = if self.is_end() && has_eof {
            self.two_bytes(3)
        } else {
            let affected = 1 + length_of_number(self.body(), 1);
            self.two_bytes(affected + length_of_number(self.body(), affected))
        };
        status & MORE_RESULTS != 0
    }
}

fn length_of_number(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(0xfc) => 3,
        Some(0xfd) => 4,
        Some(0xfe) => 9,
        _ => 1,
    }
}

/// Reads the whole answer to `command`. `has_eof` says whether a packet marks the end of columns.
pub(super) fn answer(from: &mut TcpStream, command: u8, has_eof: bool) -> io::Result<Vec<Packet>> {
    let mut packets = Vec::new();
    match command {
        QUIT | CLOSE | LONG_DATA => {}
        PREPARE => {
            let first = Packet::read(from)?;
            if first.first() != ERROR {
                let (columns, places) = (first.two_bytes(5), first.two_bytes(7));
                packets.push(first);
                for count in [places, columns] {
                    descriptions(from, count.into(), has_eof, &mut packets)?;
                }
            } else {
                packets.push(first);
            }
        }
        QUERY | EXECUTE => while result(from, has_eof, &mut packets)? {},
        _ => packets.push(Packet::read(from)?),
    }
    Ok(packets)
}

/// Reads one result; whether another follows.
fn result(from: &mut TcpStream, has_eof: bool, packets: &mut Vec<Packet>) -> io::Result<bool> {
    let first = Packet::read(from)?;
    packets.push(first.clone());
    match first.first() {
        0 => return Ok(first.has_more(has_eof)),
        ERROR => return Ok(false),
        columns => descriptions(from, columns.into(), has_eof, packets)?,
    }
    loop {
        let row = Packet::read(from)?;
        packets.push(row.clone());
        if row.first() == ERROR {
            return Ok(false);
        }
        if row.is_end() {
            return Ok(row.has_more(has_eof));
        }
    }
}

fn descriptions(
    from: &mut TcpStream,
    count: usize,
    has_eof: bool,
    packets: &mut Vec<Packet>,
) -> io::Result<()> {
    let end = usize::from(has_eof && count > 0);
    for _ in 0..count + end {
        packets.push(Packet::read(from)?);
    }
    Ok(())
}
