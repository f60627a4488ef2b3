//! Names on the wire: components joined by `/`, relative to the receiver's folder.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::os::unix::ffi::OsStrExt;

use crate::text;

/// The relative name of a file or folder; it cannot lead out of the receiver's folder.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Name(Box<[u8]>);

impl Name {
    /// Rejects names that could lead elsewhere, or that no file can have.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadName> {
        let parts = || bytes.split(|&byte| byte == b'/');
        let because = if bytes.is_empty() {
            "is empty"
        } else if bytes.contains(&0) {
            "contains a NUL"
        } else if bytes[0] == b'/' {
            "is absolute"
        } else if parts().any(|part| part == b"..") {
            "contains '..'"
        } else if parts().any(|part| part.is_empty() || part == b".") {
            "has an empty component"
        } else if bytes.len() > NAME_MAX || parts().any(|part| part.len() > PART_MAX) {
            "is too long"
        } else if parts().count() > DEPTH_MAX {
            "is nested too deeply"
        } else if parts().any(is_partial) {
            "is reserved for incomplete files"
        } else {
            return Ok(Self(bytes.into()));
        };
        Err(BadName { name: printable(&bytes[..bytes.len().min(SHOWN_MAX)]), because })
    }

    /// The parent folders, and the last component.
    pub(super) fn split(&self) -> (impl Iterator<Item = &OsStr>, &OsStr) {
        let end = self.0.iter().rposition(|&byte| byte == b'/');
        let (folders, last) = end.map_or((&[][..], &self.0[..]), |end| (&self.0[..end], &self.0[end + 1..]));
        let parts = folders.split(|&byte| byte == b'/').filter(|part| !part.is_empty());
        (parts.map(OsStr::from_bytes), OsStr::from_bytes(last))
    }

    /// Number of folders above the entry.
    pub(super) fn parents(&self) -> usize {
        self.0.iter().filter(|&&byte| byte == b'/').count()
    }

    /// The parent folder, empty at the top.
    pub(super) fn parent(&self) -> &[u8] {
        self.0.iter().rposition(|&byte| byte == b'/').map_or(&[], |end| &self.0[..end])
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0))
    }
}

/// Target of a symbolic link that does not lead out of the receiver's folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct LinkTarget(Box<[u8]>);

impl LinkTarget {
    /// Rejects targets that are absolute or contain more than `ups` components `..`. A `..` after another
    /// component is also rejected, because that component may itself be a link, whose parent can be anywhere.
    pub(super) fn parse(name: &Name, bytes: &[u8], ups: usize) -> Result<Self, BadName> {
        let parts = bytes.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".");
        let first = parts.clone().take_while(|part| *part == b"..").count();
        let because = if bytes.is_empty() || bytes.len() > NAME_MAX || bytes.contains(&0) {
            "is a link with an invalid target"
        } else if bytes[0] == b'/' || first > ups || parts.clone().skip(first).any(|part| part == b"..") {
            "is a link that may lead out of the folder"
        } else {
            return Ok(Self(bytes.into()));
        };
        Err(BadName { name: printable(&name.0[..name.0.len().min(SHOWN_MAX)]), because })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A name that a peer sent and that was rejected, with the reason.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct BadName {
    name: String,
    because: &'static str,
}

impl Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name '{}' {}", self.name, self.because)
    }
}

/// Escaped form of a name or text from the peer, for display.
pub(super) fn printable(bytes: &[u8]) -> String {
    text::printable(&String::from_utf8_lossy(bytes))
}

/// The temporary name of an incomplete file: in the same folder, and always the same for one file, so that the
/// next transfer finds it.
pub(super) fn partial(name: &OsStr) -> String {
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!("{PARTIAL_BEGIN}{}{PARTIAL_END}", &hash[..32])
}

/// Whether this is the temporary name of an incomplete file.
pub(super) fn is_partial(name: &[u8]) -> bool {
    name.starts_with(PARTIAL_BEGIN.as_bytes()) && name.ends_with(PARTIAL_END.as_bytes())
}

const PARTIAL_BEGIN: &str = ".multihop-";
const PARTIAL_END: &str = ".part";
/// Longest path that Linux accepts, bytes (`PATH_MAX`).
pub(super) const NAME_MAX: usize = 4096;
/// Longest part of a path that Linux accepts, bytes (`NAME_MAX`).
const PART_MAX: usize = 255;
/// Largest number of folders above an entry. Each folder stays open while the next one is opened.
pub(super) const DEPTH_MAX: usize = 128;
/// Largest number of characters of a bad name that a message shows.
const SHOWN_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stay_inside() {
        let long = [b'x'; PART_MAX];
        for name in [&b"a"[..], b"a/b/c", b"...", b"..a/b..", b" ", b"-", b"\xff\xfe/\x01", &long] {
            assert_eq!(Name::parse(name).map(|name| name.as_bytes().to_vec()), Ok(name.to_vec()));
        }
    }

    #[test]
    fn names_that_lead_elsewhere() {
        let attempts = [
            &b""[..],
            b"/",
            b"/etc/passwd",
            b"..",
            b"../a",
            b"a/..",
            b"a/../b",
            b"a//b",
            b"a/",
            b".",
            b"./a",
            b"a/./b",
            b"a\0b",
            b"a/.multihop-00.part",
            &[b'x'; PART_MAX + 1],
            &b"a/".repeat(DEPTH_MAX + 1)[..2 * DEPTH_MAX + 1],
            &b"abcdefg/".repeat(600),
        ];
        for name in attempts {
            assert!(Name::parse(name).is_err(), "{}", printable(name));
        }
    }

    #[test]
    fn a_link_stays_inside_if_its_dots_come_first() {
        let check = |name: &str, target: &str| {
            let name = Name::parse(name.as_bytes()).unwrap();
            LinkTarget::parse(&name, target.as_bytes(), name.parents()).is_ok()
        };
        for target in ["b", "../b", "./b/c", "../x//y/", ".."] {
            assert!(check("top/link", target), "{target}");
        }
        for target in ["", "/etc", "../../b", "b/../..", "b/..", "..//./../b", "a\0b"] {
            assert!(!check("top/link", target), "{target}");
        }
        assert!(check("link", "b") && !check("link", "..") && !check("link", &"x".repeat(NAME_MAX + 1)));
    }

    #[test]
    fn a_name_is_taken_apart() {
        let parts = |name: &str| {
            let name = Name::parse(name.as_bytes()).unwrap();
            let (folders, last) = name.split();
            (folders.map(OsStr::to_owned).collect::<Vec<_>>(), last.to_owned())
        };
        assert_eq!(parts("c"), (vec![], "c".into()));
        assert_eq!(parts("a/b/c"), (vec!["a".into(), "b".into()], "c".into()));
    }

    #[test]
    fn what_is_shown_cannot_steer_a_terminal() {
        assert_eq!(printable(b"a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\u{a}");
        assert_eq!(printable("gpj.\u{202e}exe".as_bytes()), "gpj.\\u{202e}exe");
        assert_eq!(printable("é \u{1f600}".as_bytes()), "é \u{1f600}");
    }

    #[test]
    fn unfinished_files_have_short_names_of_their_own() {
        let long = "x".repeat(PART_MAX);
        let (a, b) = (partial(OsStr::new(&long)), partial(OsStr::new("b")));
        assert!(a != b && a.len() < PART_MAX && is_partial(a.as_bytes()));
    }
}
