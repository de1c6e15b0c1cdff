//! Whose a database is, by its bytes alone.
//!
//! SQLite is not asked before this is known: at its first statement it would
//! play a log or journal that lies beside the file into it, and at its last
//! remove them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::{conflict, io_failed};
use super::open;
use super::schema::APPLICATION_ID;
use crate::error::Result;

const MAGIC: &[u8] = b"SQLite format 3\0";

/// As much of the first page as is looked at.
const PAGE: usize = 4096;

/// Refuses a database of another program. An empty one is no program's yet.
pub(super) fn examine(file: &File, path: &Path, log: &Path) -> Result<()> {
    let mut page = [0; PAGE];
    let length = read(file, &mut page, 0).map_err(|error| io_failed("read", path, error))?;
    let page = &page[..length];
    if page.is_empty() {
        return Ok(());
    }
    if page.len() < 108 || !page.starts_with(MAGIC) {
        return Err(conflict(format!(
            "{path:?} is not a SQLite database: give the path of another or of none"
        )));
    }
    let id = number(page, 68);
    if id == APPLICATION_ID {
        return Ok(());
    }
    // A leaf without cells: there is no table, or all are in the log still.
    let is_empty = page[100] == 13 && page[103..105] == [0, 0];
    let in_log = if id == 0 && is_empty {
        id_in_log(log).map_err(|error| io_failed("read", log, error))?
    } else {
        Some(id)
    };
    match in_log {
        None | Some(APPLICATION_ID) => Ok(()),
        Some(id) => Err(belongs_to_another(path, id, &tables(page))),
    }
}

/// Refuses a database that is not encrypted. Whose another is, its key tells.
pub(super) fn examine_encrypted(file: &File, path: &Path) -> Result<()> {
    let mut begin = [0; MAGIC.len()];
    read(file, &mut begin, 0).map_err(|error| io_failed("read", path, error))?;
    match begin == *MAGIC {
        false => Ok(()),
        true => Err(conflict(format!(
            "{path:?} is not encrypted, and a key was given: leave the key out, or give the path \
             of another or of none; nothing was touched"
        ))),
    }
}

fn belongs_to_another(path: &Path, id: u32, tables: &[String]) -> crate::error::Error {
    let seen = match tables {
        [] => format!("its application id is {id:#x}"),
        tables => format!("it has the tables {}", tables.join(", ")),
    };
    conflict(format!(
        "the SQLite file {path:?} belongs to another program ({seen}): give Tenure a file of its \
         own; nothing was touched"
    ))
}

/// The application id in the newest first page that the log has.
fn id_in_log(log: &Path) -> io::Result<Option<u32>> {
    let log = match open::to_read(log) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = [0; 32];
    if read(&log, &mut header, 0)? < header.len() {
        return Ok(None);
    }
    let page_size = match number(&header, 8) {
        size @ 512..=65_536 => u64::from(size),
        _ => return Ok(None),
    };
    let (mut found, mut at) = (None, 32);
    let mut frame = [0; 24 + 72];
    while read(&log, &mut frame, at)? == frame.len() && frame[8..16] == header[16..24] {
        if number(&frame, 0) == 1 {
            found = Some(number(&frame, 24 + 68));
        }
        at += 24 + page_size;
    }
    Ok(found)
}

/// The tables that the first page speaks of.
fn tables(page: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(page);
    let mut names: Vec<_> = text
        .split("CREATE TABLE ")
        .skip(1)
        .map(|rest| {
            let is_of_name = |c: &char| c.is_alphanumeric() || *c == '_';
            rest.chars().take_while(is_of_name).collect::<String>()
        })
        .filter(|name| !name.is_empty())
        .collect();
    names.sort();
    names
}

/// Reads until the buffer or the file ends.
fn read(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], at + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes");
    u32::from_be_bytes(four)
}
