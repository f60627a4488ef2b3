//! Layers of an image: tar files whose entries are added to a folder, or remove entries of earlier layers.
//!
//! Names cannot lead out of the folder: a link is followed only as a program inside the image would follow it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::layout::{Blob, check};

/// Sizes of an image so far.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// Headers, and folders that no header names.
    entries: u64,
    /// Sum of the sizes of all files, bytes.
    pub(super) bytes: u64,
    /// Bytes of the paths that were followed, one path for each name on the way to an entry.
    followed: u64,
}

impl Sizes {
    fn count_entry(&mut self) -> io::Result<()> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return refuse(format!("found more than {MAX_ENTRIES} entries"));
        }
        Ok(())
    }

    fn follow(&mut self, bytes: usize) -> io::Result<()> {
        self.followed += bytes as u64;
        if self.followed > MAX_FOLLOWED {
            return refuse(format!("found paths that take more than {MAX_FOLLOWED} bytes to follow"));
        }
        Ok(())
    }
}

/// Adds a layer to a folder, and checks its digest.
pub(super) fn unpack(layer: &Blob, root: &Path, sizes: &mut Sizes) -> io::Result<()> {
    let file = File::open(&layer.path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", layer.path.display())))?;
    let mut file = BufReader::new(Digested { file, digest: Sha256::new() });
    let result = match file.fill_buf()? {
        [0x1f, 0x8b, ..] => entries(&mut MultiGzDecoder::new(&mut file), root, sizes),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Err(io::Error::other("found a layer that zstd has compressed, allowed: gzip, or none"))
        }
        _ => entries(&mut file, root, sizes),
    };
    // Bytes behind the end of the archive belong to the digest.
    if result.is_ok() {
        io::copy(&mut file, &mut io::sink())?;
        check(&layer.digest, &file.into_inner().digest.finalize())?;
    }
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", layer.path.display())))
}

/// Reader that computes the digest of what is read.
struct Digested {
    file: File,
    digest: Sha256,
}

impl Read for Digested {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.digest.update(&buffer[..length]);
        Ok(length)
    }
}

/// Header of an entry, with the long names of the entries before it.
#[derive(Debug, Default)]
struct Entry {
    kind: u8,
    mode: u32,
    size: u64,
    path: Vec<u8>,
    target: Vec<u8>,
}

fn entries(tar: &mut impl Read, root: &Path, sizes: &mut Sizes) -> io::Result<()> {
    let mut added = HashSet::new();
    let mut longer = Entry::default();
    while let Some(header) = header(tar)? {
        sizes.count_entry()?;
        match header.kind {
            b'L' => longer.path = text(tar, header.size)?,
            b'K' => longer.target = text(tar, header.size)?,
            b'x' => extended(&text(tar, header.size)?, &mut longer)?,
            b'g' => drop(text(tar, header.size)?),
            _ => {
                let entry = header.with(std::mem::take(&mut longer));
                let longest = entry.path.len().max(entry.target.len());
                if longest > MAX_PATH {
                    return refuse(format!("found a path of {longest} bytes, allowed: at most {MAX_PATH}"));
                }
                let is_file = matches!(entry.kind, b'0' | 0 | b'7');
                sizes.bytes = sizes.bytes.saturating_add(entry.size);
                if sizes.bytes > MAX_BYTES {
                    return refuse(format!("found more than {MAX_BYTES} bytes"));
                }
                let mut content = tar.by_ref().take(entry.size);
                add(&entry, root, &mut content, &mut added, sizes)
                    .map_err(|error| named(&error, &entry.path))?;
                io::copy(&mut content, &mut io::sink())?;
                if content.limit() > 0 && (is_file || entry.size > 0) {
                    return refuse("found an archive that ends early".to_owned());
                }
                skip(tar, padding(entry.size))?;
            }
        }
    }
    Ok(())
}

impl Entry {
    /// This header with the names and the size of extended headers before it.
    fn with(self, longer: Self) -> Self {
        let or = |long: Vec<u8>, short: Vec<u8>| if long.is_empty() { short } else { long };
        Self {
            path: or(longer.path, self.path),
            target: or(longer.target, self.target),
            size: if longer.kind == SIZED { longer.size } else { self.size },
            ..self
        }
    }
}

/// Reads a header; `None` at the end of the archive.
fn header(tar: &mut impl Read) -> io::Result<Option<Entry>> {
    let mut block = [0; BLOCK];
    tar.read_exact(&mut block)?;
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
    if number(&block[148..156])? != sum - own + 8 * u64::from(b' ') {
        return refuse("found a header with a wrong checksum, allowed: a tar file".to_owned());
    }
    let mut path = until_zero(&block[..100]).to_vec();
    let prefix = until_zero(&block[345..500]);
    if &block[257..262] == b"ustar" && block[263] == b'0' && !prefix.is_empty() {
        path = [prefix, b"/", &path].concat();
    }
    Ok(Some(Entry {
        kind: block[156],
        mode: u32::try_from(number(&block[100..108])? & 0o7777).expect("twelve bits"),
        size: number(&block[124..136])?,
        path,
        target: until_zero(&block[157..257]).to_vec(),
    }))
}

/// A number of a header: octal digits, or binary if it is large.
fn number(field: &[u8]) -> io::Result<u64> {
    if field[0] & 0x80 != 0 {
        let bytes = field.iter().skip(field.len() - 8);
        return Ok(bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let digits = str::from_utf8(until_zero(field)).unwrap_or("?").trim_matches(' ');
    let digits = if digits.is_empty() { "0" } else { digits };
    u64::from_str_radix(digits, 8).map_err(|_| io::Error::other(format!("found the number {digits:?}")))
}

/// Reads the keys of an extended header: `LENGTH KEY=VALUE` with a line feed each.
fn extended(text: &[u8], entry: &mut Entry) -> io::Result<()> {
    let wrong = || io::Error::other("found a damaged extended header");
    let mut rest = text;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(wrong)?;
        let length: usize =
            str::from_utf8(&rest[..space]).ok().and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        let (line, next) = rest.split_at_checked(length).ok_or_else(wrong)?;
        let line = line.get(space + 1..length.saturating_sub(1)).ok_or_else(wrong)?;
        let equals = line.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
        let value = &line[equals + 1..];
        match &line[..equals] {
            b"path" => entry.path = value.to_vec(),
            b"linkpath" => entry.target = value.to_vec(),
            b"size" => {
                let size = str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                (entry.kind, entry.size) = (SIZED, size.ok_or_else(wrong)?);
            }
            _ => {}
        }
        rest = next;
    }
    Ok(())
}

/// Adds an entry to the folder, or removes what it hides. `added` has the paths of this layer.
fn add(
    entry: &Entry,
    root: &Path,
    content: &mut impl Read,
    added: &mut HashSet<PathBuf>,
    sizes: &mut Sizes,
) -> io::Result<()> {
    let path = inside(Path::new(OsStr::from_bytes(&entry.path)))?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let folder = resolved(root, parent, sizes)?;
    if name.as_bytes() == OPAQUE {
        return hide(&folder, parent, added);
    }
    if let Some(hidden) = name.as_bytes().strip_prefix(WHITEOUT) {
        let hidden = OsStr::from_bytes(hidden);
        return match inside(Path::new(hidden))?.file_name() {
            Some(hidden) if !added.contains(&parent.join(hidden)) => remove(&folder.join(hidden)),
            _ => Ok(()),
        };
    }
    for folder in parent.ancestors().take_while(|folder| !added.contains(*folder)).collect::<Vec<_>>() {
        sizes.count_entry()?;
        added.insert(folder.to_path_buf());
    }
    added.insert(path.clone());
    fs::create_dir_all(&folder)?;
    let place = folder.join(name);
    let mode = Permissions::from_mode(entry.mode & 0o1777);
    match entry.kind {
        b'0' | 0 | b'7' => {
            remove(&place)?;
            let mut file = File::create_new(&place)?;
            io::copy(content, &mut file)?;
            file.set_permissions(mode)
        }
        b'1' => {
            let target = inside(Path::new(OsStr::from_bytes(&entry.target)))?;
            let (Some(above), Some(last)) = (target.parent(), target.file_name()) else {
                return refuse("found a link to the root".to_owned());
            };
            let target = resolved(root, above, sizes)?.join(last);
            if target != place {
                remove(&place)?;
                fs::hard_link(target, &place)?;
            }
            Ok(())
        }
        b'2' => {
            remove(&place)?;
            symlink(OsStr::from_bytes(&entry.target), &place)
        }
        b'5' => {
            if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
                remove(&place)?;
                fs::create_dir(&place)?;
            }
            // The user who unpacks can remove the folder again.
            fs::set_permissions(&place, Permissions::from_mode(entry.mode & 0o1777 | 0o700))
        }
        // Devices and named pipes: /dev is made for each program.
        b'3' | b'4' | b'6' => Ok(()),
        other => refuse(format!("found the type {:?}, allowed: files, folders and links", char::from(other))),
    }
}

/// A path below the root; `..` is refused.
fn inside(path: &Path) -> io::Result<PathBuf> {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => found.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return refuse("found a path with `..`, allowed: paths inside the image".to_owned());
            }
        }
    }
    Ok(found)
}

/// The folder that a path means for programs inside the root, which links cannot leave.
fn resolved(root: &Path, path: &Path, sizes: &mut Sizes) -> io::Result<PathBuf> {
    let mut todo: Vec<_> = path.iter().rev().map(OsStr::to_os_string).collect();
    let mut found = PathBuf::new();
    let mut links = 0;
    while let Some(name) = todo.pop() {
        sizes.follow(found.as_os_str().len() + name.len())?;
        if name == ".." {
            found.pop();
            continue;
        }
        let Ok(target) = fs::read_link(root.join(&found).join(&name)) else {
            found.push(name);
            if found.iter().count() > MAX_DEPTH {
                return refuse(format!("found more than {MAX_DEPTH} nested folders"));
            }
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return refuse(format!("found more than {MAX_LINKS} links in a row"));
        }
        if target.is_absolute() {
            found.clear();
        }
        let parts = target.components().rev().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        todo.extend(parts);
    }
    Ok(root.join(found))
}

/// Removes what earlier layers have in a folder, and keeps what this layer has added.
fn hide(folder: &Path, path: &Path, added: &HashSet<PathBuf>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let below = path.join(entry.file_name());
        if !added.contains(&below) {
            remove(&entry.path())?;
        } else if entry.file_type()?.is_dir() {
            hide(&entry.path(), &below, added)?;
        }
    }
    Ok(())
}

/// Removes a file, a link or a folder, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn text(tar: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    if size > MAX_TEXT {
        return refuse(format!("found a name of {size} bytes, allowed: at most {MAX_TEXT}"));
    }
    let mut bytes = vec![0; usize::try_from(size).expect("a bounded size")];
    tar.read_exact(&mut bytes)?;
    skip(tar, padding(size))?;
    // GNU tar ends names with a zero; extended headers have none.
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(bytes)
}

/// Bytes after a content of this size, up to the next block.
const fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

fn skip(tar: &mut impl Read, bytes: u64) -> io::Result<()> {
    io::copy(&mut tar.take(bytes), &mut io::sink()).map(drop)
}

fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn named(error: &io::Error, path: &[u8]) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", String::from_utf8_lossy(path)))
}

fn refuse<T>(message: String) -> io::Result<T> {
    Err(io::Error::other(message))
}

/// Bytes of a header, and unit of contents.
const BLOCK: usize = 512;
/// Kind of an [`Entry`] made of extended headers that give the size of the next file.
const SIZED: u8 = b'x';
/// Name of an entry that hides everything of earlier layers in its folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Beginning of the name of an entry that hides another.
const WHITEOUT: &[u8] = b".wh.";
/// Largest number of entries of an image.
const MAX_ENTRIES: u64 = 1_000_000;
/// Largest image, bytes of its files.
const MAX_BYTES: u64 = 2 << 30;
/// Longest name or extended header, bytes. Extended headers also contain attributes, which are not used.
const MAX_TEXT: u64 = 1 << 20;
/// Longest path, and longest target of a link, bytes. No program can open a longer one.
const MAX_PATH: usize = 4096;
/// Largest number of folders inside each other. Each of them takes an open file when the image is removed.
const MAX_DEPTH: usize = 256;
/// Largest number of bytes of followed paths of an image, which bounds the time and the memory to unpack it.
const MAX_FOLLOWED: u64 = 1 << 30;
/// Most links on the way to a folder.
const MAX_LINKS: usize = 40;

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use super::*;

    /// An archive with these entries: path, kind, content, target of a link.
    pub(in super::super) fn tar(entries: &[(&str, u8, &[u8], &str)]) -> Vec<u8> {
        let mut tar = Vec::new();
        for (path, kind, content, target) in entries {
            let mut block = [0; BLOCK];
            block[..path.len()].copy_from_slice(path.as_bytes());
            block[100..107].copy_from_slice(b"0004755");
            block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            block[148..156].fill(b' ');
            block[156] = *kind;
            block[157..157 + target.len()].copy_from_slice(target.as_bytes());
            block[257..265].copy_from_slice(b"ustar\x0000");
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            tar.extend(block);
            tar.extend(*content);
            tar.resize(tar.len().next_multiple_of(BLOCK), 0);
        }
        tar.extend([0; 2 * BLOCK]);
        tar
    }

    fn added(root: &Path, entries_of: &[(&str, u8, &[u8], &str)]) -> Result<(), String> {
        entries(&mut &tar(entries_of)[..], root, &mut Sizes::default()).map_err(|error| error.to_string())
    }

    fn content(path: PathBuf) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn layers_add_replace_and_hide() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let first: &[(&str, u8, &[u8], &str)] = &[
            ("./usr/", b'5', b"", ""),
            ("usr/lib/a", b'0', b"one", ""),
            ("usr/lib/b", b'0', b"two", ""),
            ("lib", b'2', b"", "usr/lib"),
            ("hard", b'1', b"", "usr/lib/a"),
            ("old/x/1", b'0', b"", ""),
            ("old/2", b'0', b"", ""),
            ("dev/null", b'3', b"", ""),
        ];
        added(root, first).unwrap();
        assert_eq!(content(root.join("lib/a")), "one");
        assert_eq!(content(root.join("hard")), "one");
        // Rights of the owner without those of another user.
        assert_eq!(fs::metadata(root.join("hard")).unwrap().permissions().mode() & 0o7777, 0o755);
        assert!(!root.join("dev/null").exists());
        let second: &[(&str, u8, &[u8], &str)] = &[
            ("lib/c", b'0', b"three", ""),
            ("lib/a", b'0', b"new", ""),
            ("usr/lib/.wh.b", b'0', b"", ""),
            ("old/x/3", b'0', b"", ""),
            ("old/.wh..wh..opq", b'0', b"", ""),
            ("usr/.wh.none", b'0', b"", ""),
        ];
        added(root, second).unwrap();
        assert_eq!(content(root.join("usr/lib/c")), "three");
        assert_eq!(content(root.join("usr/lib/a")), "new");
        assert_eq!(content(root.join("hard")), "one", "a replaced file keeps its other names");
        assert!(!root.join("usr/lib/b").exists());
        assert!(root.join("old/x/3").exists());
        assert!(!root.join("old/x/1").exists() && !root.join("old/2").exists());
    }

    #[test]
    fn names_and_links_cannot_lead_out_of_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join("secret"), "kept").unwrap();
        let outside = folder.path().to_str().unwrap().to_owned();
        let kept = || content(folder.path().join("secret"));
        for path in ["../secret", "a/../../secret", "a/.wh..."] {
            let error = added(&root, &[(path, b'0', b"bad", "")]);
            assert!(error.as_ref().is_err_and(|error| error.contains("`..`")), "{path}: {error:?}");
        }
        let error = added(&root, &[("copy", b'1', b"", "../secret")]);
        assert!(error.is_err_and(|error| error.contains("`..`")));
        for target in ["..", "../..", &outside] {
            added(&root, &[("way", b'2', b"", target), ("way/secret", b'0', b"bad", "")]).unwrap();
            added(&root, &[("way/.wh.secret", b'0', b"", ""), ("way/.wh..wh..opq", b'0', b"", "")]).unwrap();
            let error = added(&root, &[("way", b'2', b"", target), ("copy", b'1', b"", "way/secret")]);
            assert!(error.is_err(), "a link to a file outside");
            assert_eq!(kept(), "kept");
        }
        // A file replaces a link, and does not follow it.
        added(&root, &[("file", b'2', b"", "../secret"), ("file", b'0', b"own", "")]).unwrap();
        assert_eq!((kept().as_str(), content(root.join("file")).as_str()), ("kept", "own"));
        let turns: &[(&str, u8, &[u8], &str)] = &[("r", b'2', b"", "r"), ("r/x", b'0', b"", "")];
        assert!(added(&root, turns).is_err_and(|error| error.contains("links in a row")));
    }

    #[test]
    fn long_names_and_sizes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let long = "d/".repeat(100) + "file";
        let line = format!(" path={long}\n");
        let length = (line.len()..).find(|length| length.to_string().len() + line.len() == *length).unwrap();
        let pax = format!("{length}{line}");
        let with_zero = format!("{long}2\0");
        let entries_of: &[(&str, u8, &[u8], &str)] = &[
            ("x", b'x', pax.as_bytes(), ""),
            ("short", b'0', b"pax", ""),
            ("y", b'L', with_zero.as_bytes(), ""),
            ("short", b'0', b"gnu", ""),
        ];
        added(folder.path(), entries_of).unwrap();
        assert_eq!(content(folder.path().join(&long)), "pax");
        assert_eq!(content(folder.path().join(long + "2")), "gnu");
        for damaged in ["9 a=bcd\n", "1 a", "x=1\n", "99999999999999999999 a=b\n", "3 a", "0 =\n"] {
            assert!(extended(damaged.as_bytes(), &mut Entry::default()).is_err(), "{damaged:?}");
        }
    }

    /// An archive of one empty file, whose path is in a header of GNU tar.
    fn with_path(path: &str) -> Vec<u8> {
        tar(&[("x", b'L', path.as_bytes(), ""), ("short", b'0', b"", "")])
    }

    #[test]
    fn long_and_deep_paths_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tried = |bytes: &[u8]| {
            let done = entries(&mut &bytes[..], folder.path(), &mut Sizes::default());
            done.map_err(|error| error.to_string())
        };
        let long = tried(&with_path(&"a/".repeat(MAX_PATH)));
        assert!(long.is_err_and(|error| error == "found a path of 8192 bytes, allowed: at most 4096"));
        let target = "a/".repeat(MAX_PATH);
        let long = tried(&tar(&[("x", b'K', target.as_bytes(), ""), ("link", b'2', b"", "")]));
        assert!(long.is_err_and(|error| error.contains("path of 8192 bytes")));
        tried(&with_path(&"b/".repeat(MAX_DEPTH))).unwrap();
        let deep = tried(&with_path(&"c/".repeat(MAX_DEPTH + 2)));
        assert!(deep.is_err_and(|error| error.ends_with("more than 256 nested folders")));
        // A link to a deep folder leads as deep as the folder.
        let below = "b/".repeat(MAX_DEPTH - 2);
        let by_link =
            [("x", b'K', below.as_bytes(), ""), ("way", b'2', b"", ""), ("way/1/2/3/4", b'0', b"", "")];
        assert!(tried(&tar(&by_link)).is_err_and(|error| error.ends_with("more than 256 nested folders")));
    }

    #[test]
    fn folders_without_a_header_count_as_entries() {
        let folder = tempfile::tempdir().unwrap();
        let mut sizes = Sizes::default();
        // Two headers, the root, and the folders 1, 1/2 and 1/2/3.
        entries(
            &mut &tar(&[("1/2/3/a", b'0', b"", ""), ("1/2/3/b", b'0', b"", "")])[..],
            folder.path(),
            &mut sizes,
        )
        .unwrap();
        assert_eq!(sizes.entries, 6);
        let mut many = Sizes { entries: MAX_ENTRIES - 3, ..Sizes::default() };
        let refused = entries(&mut &tar(&[("5/6/7/a", b'0', b"", "")])[..], folder.path(), &mut many);
        assert!(refused.is_err_and(|error| error.to_string().ends_with("more than 1000000 entries")));
        assert!(!folder.path().join("5").exists());
    }

    #[test]
    fn the_work_to_follow_paths_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let turns = "d/../".repeat(800);
        let way = format!("{}file", "way/".repeat(MAX_LINKS));
        let mut archive = tar(&[("x", b'K', turns.as_bytes(), ""), ("way", b'2', b"", "")]);
        archive.truncate(archive.len() - 2 * BLOCK);
        archive.extend(tar(&[("y", b'L', way.as_bytes(), ""), ("short", b'0', b"", "")]));
        let mut sizes = Sizes::default();
        entries(&mut &archive[..], folder.path(), &mut sizes).unwrap();
        // Each of 40 links has 800 names and as many steps back.
        assert!(sizes.followed >= 40 * 1600, "{sizes:?}");
        sizes.followed = MAX_FOLLOWED - 1000;
        let refused = entries(&mut &archive[..], folder.path(), &mut sizes);
        assert!(refused.is_err_and(|error| error.to_string().ends_with("1073741824 bytes to follow")));
    }

    #[test]
    fn damaged_and_oversized_archives_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let good = tar(&[("file", b'0', &[1; 2000], "")]);
        let tried = |bytes: &[u8]| entries(&mut &bytes[..], folder.path(), &mut Sizes::default());
        for length in [0, 100, 512, 1000, 2560] {
            assert!(tried(&good[..length]).is_err(), "{length} bytes");
        }
        let mut huge = good.clone();
        huge[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert!(tried(&huge).is_err(), "a wrong checksum");
        let sum: u32 = huge[..512].iter().map(|byte| u32::from(*byte)).sum();
        let own: u32 = huge[148..156].iter().map(|byte| u32::from(*byte)).sum();
        huge[148..154].copy_from_slice(format!("{:06o}", sum - own + 8 * 32).as_bytes());
        assert!(tried(&huge).is_err_and(|error| error.to_string().contains("more than 2147483648 bytes")));
    }

    #[test]
    fn random_bytes_neither_panic_nor_leave_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let secret = folder.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        let pax: &[u8] = b"20 path=../secret12\n17 size=100000000\n";
        let good = tar(&[
            ("a/", b'5', b"", ""),
            ("a/way", b'2', b"", "../.."),
            ("x", b'x', pax, ""),
            ("a/way/secret", b'0', b"bad", ""),
            ("y", b'L', b"../secret", ""),
            ("a/.wh..wh..opq", b'0', b"", ""),
            ("b", b'1', b"", "a/way/secret"),
        ]);
        let mut state = 1_u32;
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % below
        };
        for _ in 0..500 {
            let mut bytes = good.clone();
            for _ in 0..draw(4) {
                let place = draw(bytes.len());
                bytes[place] = u8::try_from(draw(256)).unwrap();
            }
            // Most changes would only break a checksum.
            for block in bytes.chunks_exact_mut(BLOCK).filter(|block| block[257..262] == *b"ustar") {
                block[148..156].fill(b' ');
                let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
                block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
            fs::create_dir(&root).unwrap();
            let _ = entries(&mut &bytes[..], &root, &mut Sizes::default());
            fs::remove_dir_all(&root).unwrap();
            assert_eq!(content(secret.clone()), "kept");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn layers_may_have_gzip_and_must_have_their_digest() {
        let folder = tempfile::tempdir().unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar(&[("file", b'0', b"packed", "")])).unwrap();
        let gzip = gzip.finish().unwrap();
        let digest: String = Sha256::digest(&gzip).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.path().join("layer");
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let tried = |bytes: &[u8], digest: &str| {
            fs::write(&path, bytes).unwrap();
            let layer = Blob { path: path.clone(), digest: digest.to_owned() };
            unpack(&layer, &root, &mut Sizes::default()).map_err(|error| error.to_string())
        };
        tried(&gzip, &digest).unwrap();
        assert!(tried(&gzip, &"0".repeat(64)).is_err_and(|error| error.contains("damaged")));
        assert!(tried(&[0x28, 0xb5, 0x2f, 0xfd, 0], &digest).is_err_and(|error| error.contains("zstd")));
        assert_eq!(content(root.join("file")), "packed");
    }
}
