//! Names as paths, and latch nodes in their order.
//!
//! A name is a path component as it stands, as it is for Curator and Simba: a
//! name that the two would put at different paths would have two owners. So a
//! name that cannot be one component (with `/`, or what the server refuses) is
//! refused, unless the URL says that no peer shares these mutexes: then all that
//! is not plain is percent-encoded, `%` as well, and two names never share a
//! path.

use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

use crate::backend::Nonce;
use crate::error::{Error, Result};
use crate::model::MutexName;

/// Where everything lies.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    chroot: String,
    latches: String,
    schedules: String,
    names: Names,
}

/// How the names of mutexes become parts of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// As they are, beside others who do the same.
    Shared,
    /// So that every name has a path; only we read them.
    Encoded,
}

impl Paths {
    /// Below `chroot` (empty or `/a/b`), with the latches under `root` (`/simba`).
    pub(super) fn new(chroot: &str, root: &str, names: Names) -> Self {
        Self {
            chroot: chroot.to_owned(),
            latches: format!("{chroot}{root}"),
            schedules: format!("{chroot}/tenure/schedule"),
            names,
        }
    }

    /// What everything lies below, if anything.
    pub(super) fn chroot(&self) -> Option<&str> {
        Some(self.chroot.as_str()).filter(|chroot| !chroot.is_empty())
    }

    /// The parent of all mutexes.
    pub(super) fn latches(&self) -> &str {
        &self.latches
    }

    /// Whether `name` has a path.
    pub(super) fn check(&self, name: &MutexName) -> Result<()> {
        if self.names == Names::Encoded || is_component(name.as_str()) {
            return Ok(());
        }
        let why = match name.as_str().contains('/') {
            true => "a JVM peer would take its '/' for a path below another mutex",
            false => "ZooKeeper does not take it as the name of a node",
        };
        Err(Error::invalid(format!(
            "the mutex name {:?} cannot be used on ZooKeeper: {why}. Choose another, or give \
             names=encoded in the URL if no JVM service shares these mutexes",
            name.as_str()
        )))
    }

    /// The path of `name`, which has been [checked](Self::check).
    pub(super) fn mutex(&self, name: &MutexName) -> String {
        match self.names {
            _ if is_stray(name) => format!("{}/{name}", self.latches),
            Names::Shared => format!("{}/{name}", self.latches),
            Names::Encoded => format!("{}/{}", self.latches, encode(name.as_str())),
        }
    }

    /// The mutex whose path component this is, also one that no contender here
    /// can have.
    pub(super) fn name(&self, component: &str) -> MutexName {
        match self.names {
            Names::Shared => MutexName::found(component.as_bytes()),
            Names::Encoded => found(component),
        }
    }

    /// Every path at which a contender may stand for `name`, whatever names are
    /// like there.
    pub(super) fn everywhere(&self, name: &MutexName) -> Vec<String> {
        let encoded = format!("{}/{}", self.latches, encode(name.as_str()));
        let plain = format!("{}/{name}", self.latches);
        match is_component(name.as_str()) && plain != encoded {
            true => vec![encoded, plain],
            false => vec![encoded],
        }
    }

    pub(super) fn names(&self) -> Names {
        self.names
    }

    pub(super) fn schedules(&self) -> &str {
        &self.schedules
    }

    /// Always encoded: no peer reads it, and what it says must be found
    /// again whatever the URL says of names.
    pub(super) fn schedule(&self, name: &MutexName) -> String {
        format!("{}/{}", self.schedules, encode(name.as_str()))
    }
}

/// What the bytes of a node begin with whose name is no encoded one: no text.
const STRAY: &[u8] = b"\xff";

pub(super) fn encode(name: &str) -> String {
    if name.chars().all(|c| c == '.') && name.len() <= 2 {
        return name.replace('.', "%2E");
    }
    let mut path = String::with_capacity(name.len());
    for c in name.chars() {
        if is_plain(c) {
            path.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

/// Whether the server takes `c` in a path. It judges UTF-16 units, so whatever
/// needs two of them is refused.
fn is_plain(c: char) -> bool {
    c != '/' && c != '%' && is_taken(c)
}

fn is_taken(c: char) -> bool {
    let refused = [0..=0x1f, 0x7f..=0x9f, 0xd800..=0xf8ff, 0xfff0..=0x0010_ffff];
    !refused.iter().any(|range| range.contains(&u32::from(c)))
}

/// Whether the server takes `name` as one part of a path.
pub(super) fn is_component(name: &str) -> bool {
    !["", ".", ".."].contains(&name) && name.chars().all(|c| c != '/' && is_taken(c))
}

/// The name that is encoded as `component`; `None` if none is.
pub(super) fn decode(component: &str) -> Option<MutexName> {
    let name = percent_decode_str(component).decode_utf8().ok()?;
    let name = MutexName::new(&name).ok()?;
    (encode(name.as_str()) == component).then_some(name)
}

/// The name that is encoded as `component`, also one that no contender here
/// can have.
pub(super) fn found(component: &str) -> MutexName {
    match percent_decode_str(component).decode_utf8() {
        Ok(name) if encode(&name) == component => MutexName::found(name.as_bytes()),
        _ => MutexName::stray(component, &[STRAY, component.as_bytes()].concat()),
    }
}

/// Whether this is the name of a node that no name leads to.
pub(super) fn is_stray(name: &MutexName) -> bool {
    name.as_bytes().starts_with(STRAY)
}

/// What the node of the bid `nonce` is called, before its number.
pub(super) fn node_prefix(nonce: Nonce) -> String {
    let uuid = uuid::Uuid::from_u128(nonce.bits());
    format!("_c_{uuid}-latch-")
}

/// The nonce of the bid whose node this is; a Curator's node has one too.
pub(super) fn nonce_of(child: &str) -> Option<Nonce> {
    let uuid = child.strip_prefix("_c_")?.get(..36)?;
    let uuid = uuid::Uuid::try_parse(uuid).ok()?;
    Some(Nonce::from_bits(uuid.as_u128()))
}

/// Whether the node is one of ours. Curator names its nodes by random UUIDs, of
/// version 4, which no nonce of ours is; of the versions before that rule one
/// node in 64 is taken for Curator's.
pub(super) fn is_ours(child: &str) -> bool {
    nonce_of(child).is_some_and(|nonce| {
        let uuid = uuid::Uuid::from_u128(nonce.bits());
        uuid.get_version_num() != 4 || uuid.get_variant() != uuid::Variant::RFC4122
    })
}

/// In Curator's order: by the text after the last `latch-`.
pub(super) fn sort(children: &mut [String]) {
    children.sort_unstable_by(|left, right| number(left).cmp(number(right)));
}

fn number(child: &str) -> &str {
    child.rfind("latch-").map_or(child, |at| &child[at + 6..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stand_as_they_are() {
        for name in ["order-settlement", "a b", "é", "日本", "a:b", "a.", "..."] {
            assert_eq!(encode(name), name);
        }
    }

    #[test]
    fn what_a_path_cannot_hold_is_encoded_and_comes_back() {
        for (name, path) in [
            ("a/b", "a%2Fb"),
            ("a%2Fb", "a%252Fb"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("🦀", "%F0%9F%A6%80"),
            ("\u{e000}", "%EE%80%80"),
        ] {
            assert_eq!(encode(name), path);
            assert_eq!(decode(path), Some(MutexName::new(name).unwrap()));
        }
    }

    #[test]
    fn beside_others_names_stand_as_they_are_or_are_refused() {
        let paths = Paths::new("", "/simba", Names::Shared);
        let name = |name: &str| MutexName::new(name).unwrap();
        for plain in ["50%", "a%2Fb", "a b", "...", "日本"] {
            paths.check(&name(plain)).unwrap();
            assert_eq!(paths.mutex(&name(plain)), format!("/simba/{plain}"));
            assert_eq!(paths.name(plain), name(plain));
        }
        for (bad, why) in [
            ("a/b", "'/'"),
            (".", "node"),
            ("..", "node"),
            ("🦀", "node"),
        ] {
            let error = paths.check(&name(bad)).unwrap_err().to_string();
            assert!(
                error.contains(why) && error.contains("names=encoded"),
                "{error}"
            );
            Paths::new("", "/simba", Names::Encoded)
                .check(&name(bad))
                .unwrap();
        }
    }

    #[test]
    fn contenders_are_looked_for_at_every_path_they_may_have() {
        let name = |name: &str| MutexName::new(name).unwrap();
        for names in [Names::Shared, Names::Encoded] {
            let paths = Paths::new("", "/simba", names);
            assert_eq!(paths.everywhere(&name("m")), ["/simba/m"]);
            assert_eq!(paths.everywhere(&name("a/b")), ["/simba/a%2Fb"]);
            assert_eq!(
                paths.everywhere(&name("50%")),
                ["/simba/50%25", "/simba/50%"]
            );
        }
    }

    #[test]
    fn a_component_that_no_name_has_is_a_strangers() {
        let paths = Paths::new("", "/simba", Names::Encoded);
        for path in ["a%2fb", "a%62", "a%", "%FF"] {
            let name = paths.name(path);
            assert!(is_stray(&name) && name.fault().is_some(), "{path:?}");
            assert_eq!(paths.mutex(&name), format!("/simba/{path}"));
            assert_ne!(name, MutexName::new(path).unwrap());
        }
        assert!(!is_stray(&paths.name(" a")) && paths.name(" a").fault().is_some());
    }

    #[test]
    fn nodes_are_sorted_by_their_number_whatever_stands_before_it() {
        let mut nodes = ["_c_b-latch-0000000002", "_c_c-latch-0000000001"].map(String::from);
        sort(&mut nodes);
        assert!(nodes[0].ends_with('1'));
    }

    #[test]
    fn nodes_of_ours_are_told_from_curators() {
        for _ in 0..1000 {
            let ours = node_prefix(Nonce::random());
            assert!(is_ours(&format!("{ours}0000000000")), "{ours}");
            let curator = crate::model::chance::uuid();
            assert!(!is_ours(&format!("_c_{curator}-latch-0000000000")));
        }
        assert!(!is_ours("anything-else-0000000000"));
    }

    #[test]
    fn the_nonce_is_the_uuid_of_the_node() {
        let prefix = node_prefix(Nonce::from_bits(1));
        assert_eq!(prefix, "_c_00000000-0000-0000-0000-000000000001-latch-");
        let nonce = nonce_of(&format!("{prefix}0000000000"));
        assert_eq!(nonce, Some(Nonce::from_bits(1)));
        assert_eq!(nonce_of("_c_short-latch-0000000000"), None);
    }
}
