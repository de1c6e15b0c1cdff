//! Just enough of the Redis protocol to ask a question. Not a driver.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Sends one command on a connection of its own and reads the answer as text: nil is `(nil)`,
/// the elements of an array stand on lines of their own, an error is an [`io::Error`].
pub(super) fn ask(
    address: SocketAddr,
    password: Option<&str>,
    words: &[&str],
    limit: Duration,
) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let mut stream = BufReader::new(stream);
    if let Some(password) = password {
        exchange(&mut stream, &["AUTH", password])?;
    }
    exchange(&mut stream, words)
}

fn exchange(stream: &mut BufReader<TcpStream>, words: &[&str]) -> io::Result<String> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.get_mut().write_all(request.as_bytes())?;
    read(stream)
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rest = line[1..].trim_end();
    let length = || rest.parse::<usize>().ok();
    match line.as_bytes()[0] {
        b'+' | b':' => Ok(rest.to_owned()),
        b'-' => Err(io::Error::other(rest)),
        b'$' => match length() {
            None => Ok("(nil)".to_owned()),
            Some(length) => {
                let mut bytes = vec![0; length + 2];
                stream.read_exact(&mut bytes)?;
                Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
            }
        },
        b'*' => match length() {
            None => Ok("(nil)".to_owned()),
            Some(length) => {
                let lines: io::Result<Vec<String>> = (0..length).map(|_| read(stream)).collect();
                Ok(lines?.join("\n"))
            }
        },
        _ => Err(io::Error::other(format!("not understood: {line:?}"))),
    }
}
