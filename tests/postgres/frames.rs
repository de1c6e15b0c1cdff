//! The messages of PostgreSQL's protocol, as far as a proxy must understand them.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What asks for TLS in the place of a startup message.
const TLS: u32 = 80_877_103;

/// The startup message of a client, which does without TLS.
pub(crate) async fn startup(client: &mut TcpStream) -> Option<Vec<u8>> {
    loop {
        let message = untyped(client).await?;
        if message[4..8] != TLS.to_be_bytes() {
            return Some(message);
        }
        client.write_all(b"N").await.ok()?;
    }
}

/// All that a session says until it waits for the next message.
pub(crate) async fn until_ready(session: &mut TcpStream) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let message = typed(session).await?;
        all.extend_from_slice(&message);
        if message[0] == b'Z' {
            return Some(all);
        }
    }
}

/// A message that begins with its kind.
pub(crate) async fn typed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let kind = stream.read_u8().await.ok()?;
    let mut message = vec![kind];
    message.extend(untyped(stream).await?);
    Some(message)
}

async fn untyped(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut message = length.to_be_bytes().to_vec();
    message.resize(length as usize, 0);
    stream.read_exact(&mut message[4..]).await.ok()?;
    Some(message)
}
