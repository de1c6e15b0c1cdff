//! A second connection of another client's session, as a request has that was long on its
//! way: what it creates belongs to that session.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// What a server gives to a session as its password: `java.util.Random`, by the session and a
/// number that is the same in all of them.
fn password(session: i64) -> [u8; 16] {
    const MASK: i64 = (1 << 48) - 1;
    const FACTOR: i64 = 0x5_DEEC_E66D;
    let mut state = (session ^ 0xB341_5C00 ^ FACTOR) & MASK;
    let mut password = [0; 16];
    for four in password.chunks_exact_mut(4) {
        state = state.wrapping_mul(FACTOR).wrapping_add(0xB) & MASK;
        four.copy_from_slice(&((state >> 16) as i32).to_le_bytes());
    }
    password
}

fn say(stream: &mut TcpStream, parts: &[&[u8]]) -> Vec<u8> {
    let message = parts.concat();
    let length = i32::try_from(message.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length, &*message].concat()).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut answer).unwrap();
    answer
}

fn counted(bytes: &[u8]) -> Vec<u8> {
    let length = i32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&length, bytes].concat()
}

/// Creates the ephemeral node `path` in `session`, whose own connection the server closes.
pub(crate) fn create(server: SocketAddr, session: i64, path: &str, data: &str) {
    let mut stream = TcpStream::connect(server).unwrap();
    let (protocol, zxid, timeout) = (0_i32, 0_i64, 30_000_i32);
    let welcome = say(
        &mut stream,
        &[
            &protocol.to_be_bytes(),
            &zxid.to_be_bytes(),
            &timeout.to_be_bytes(),
            &session.to_be_bytes(),
            &counted(&password(session)),
            &[0],
        ],
    );
    assert_eq!(welcome[8..16], session.to_be_bytes(), "it goes on");
    let (xid, create, all, one, ephemeral) = (1_i32, 1_i32, 31_i32, 1_i32, 1_i32);
    let answer = say(
        &mut stream,
        &[
            &xid.to_be_bytes(),
            &create.to_be_bytes(),
            &counted(path.as_bytes()),
            &counted(data.as_bytes()),
            &one.to_be_bytes(),
            &all.to_be_bytes(),
            &counted(b"world"),
            &counted(b"anyone"),
            &ephemeral.to_be_bytes(),
        ],
    );
    assert_eq!(answer[12..16], [0; 4], "it is created");
}
