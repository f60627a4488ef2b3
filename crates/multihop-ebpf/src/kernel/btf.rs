//! Descriptions of types (BTF): those of the kernel, and those of the compiled file.

/// Types that can be looked up.
pub(super) struct Btf<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    /// Offset in `bytes` of each type's description; type identifiers count from 1.
    starts: Vec<usize>,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    pub(super) of: u32,
    /// Offset of the member in the structure, bytes.
    pub(super) offset: usize,
}

impl<'a> Btf<'a> {
    /// Parses the descriptions; `None` if their format is unknown.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(..2)? != MAGIC.to_le_bytes() {
            return None;
        }
        let after = word(bytes, 4)?;
        let part = |at| {
            let start = after.checked_add(word(bytes, at)?)?;
            Some(start..start.checked_add(word(bytes, at + 4)?)?)
        };
        let (types, strings) = (part(8)?, bytes.get(part(16)?)?);
        let mut btf = Self { bytes, strings, starts: Vec::new() };
        let mut at = types.start;
        while at < types.end {
            btf.starts.push(at);
            at += FIXED + rest(kind(bytes, at)?, count(bytes, at)?)?;
        }
        Some(btf)
    }

    /// The identifier of the type of this kind and name.
    pub(super) fn find(&self, wanted: u32, name: &str) -> Option<u32> {
        let found = self
            .starts
            .iter()
            .position(|at| kind(self.bytes, *at) == Some(wanted) && self.text(*at) == Some(name))?;
        u32::try_from(found + 1).ok()
    }

    /// The members of a structure.
    pub(super) fn members(&self, structure: u32) -> Option<Vec<Member<'a>>> {
        let at = self.start(structure)?;
        if kind(self.bytes, at)? != STRUCT {
            return None;
        }
        let member = |index| {
            let at = at + FIXED + 12 * index;
            let name = self.string(word(self.bytes, at)?)?;
            // The upper byte is the width of a bit field.
            let bits = word(self.bytes, at + 8)? & 0x00ff_ffff;
            Some(Member { name, of: u32::try_from(word(self.bytes, at + 4)?).ok()?, offset: bits / 8 })
        };
        (0..count(self.bytes, at)?).map(member).collect()
    }

    /// Bytes of a value of a type.
    pub(super) fn size(&self, of: u32) -> Option<usize> {
        let (mut of, mut times) = (of, 1_usize);
        for _ in 0..MAX_DEPTH {
            let at = self.start(of)?;
            let third = word(self.bytes, at + 8)?;
            match kind(self.bytes, at)? {
                INT | STRUCT | UNION | ENUM => return times.checked_mul(third),
                POINTER => return times.checked_mul(8),
                ARRAY => {
                    times = times.checked_mul(word(self.bytes, at + FIXED + 8)?)?;
                    of = self.number(at + FIXED)?;
                }
                TYPEDEF | VOLATILE | CONST => of = self.number(at + 8)?,
                _ => return None,
            }
        }
        None
    }

    /// The type to which a pointer or a variable refers.
    pub(super) fn target(&self, of: u32) -> Option<u32> {
        self.number(self.start(of)? + 8)
    }

    /// Number of elements of an array, which is how `__uint` in a map's definition stores a number.
    pub(super) fn elements(&self, array: u32) -> Option<u32> {
        self.number(self.start(array)? + FIXED + 8)
    }

    fn start(&self, of: u32) -> Option<usize> {
        self.starts.get(usize::try_from(of).ok()?.checked_sub(1)?).copied()
    }

    fn number(&self, at: usize) -> Option<u32> {
        word(self.bytes, at).and_then(|number| u32::try_from(number).ok())
    }

    fn text(&self, at: usize) -> Option<&'a str> {
        self.string(word(self.bytes, at)?)
    }

    /// The text at this offset among the names.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        let bytes = self.strings.get(at..)?.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(bytes).ok()
    }

    /// Descriptions without the parts that only a loader needs, because the kernel checks all descriptions
    /// and would refuse these. Variables become integers, sections become structures, and functions of the
    /// kernel become aliases, each with the same number of bytes.
    pub(super) fn for_the_kernel(&self) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.to_vec();
        let mut set = |at: usize, value: usize| {
            bytes[at..at + 4].copy_from_slice(&u32::try_from(value).expect("small numbers").to_le_bytes());
        };
        let integer = 1 + self.starts.iter().position(|at| kind(self.bytes, *at) == Some(INT))?;
        for &at in &self.starts {
            let number = count(self.bytes, at)?;
            match kind(self.bytes, at)? {
                VARIABLE => {
                    set(at + 4, (INT as usize) << 24);
                    set(at + 8, 1);
                    set(at + FIXED, 8);
                }
                SECTION => {
                    set(at, 0);
                    set(at + 4, (STRUCT as usize) << 24 | number);
                    set(at + 8, WIDTH * number);
                    for index in 0..number {
                        let member = at + FIXED + 12 * index;
                        let variable = self.start(self.number(member)?)?;
                        set(member, word(self.bytes, variable)?);
                        set(member + 4, integer);
                        set(member + 8, 8 * WIDTH * index);
                    }
                }
                FUNCTION if number == EXTERNAL => set(at + 4, (TYPEDEF as usize) << 24),
                _ => {}
            }
        }
        Some(bytes)
    }
}

/// Records of `.BTF.ext` about functions, or about accesses to members, for one section.
pub(super) fn records<'a>(ext: &'a [u8], part: usize, btf: &Btf<'_>, section: &str) -> Option<Vec<&'a [u8]>> {
    let start = word(ext, 4)?.checked_add(word(ext, part)?)?;
    let part = ext.get(start..start.checked_add(word(ext, part + 4)?)?)?;
    let size = word(part, 0)?;
    let (mut at, mut found) = (4, Vec::new());
    while at < part.len() {
        let (name, number) = (btf.string(word(part, at)?)?, word(part, at + 4)?);
        let records = part.get(at + 8..)?.get(..number.checked_mul(size)?)?;
        if name == section {
            found.extend(records.chunks_exact(size));
        }
        at += 8 + records.len();
    }
    Some(found)
}

/// Number of bytes after the fixed part of a description.
fn rest(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        INT | VARIABLE | TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | SECTION | ENUM64 => 12 * count,
        ENUM | PROTOTYPE => 8 * count,
        POINTER | FORWARD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNCTION | FLOAT | TYPE_TAG => 0,
        _ => return None,
    })
}

fn kind(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at + 7).map(|byte| u32::from(byte & 0x1f))
}

/// Number of members, parameters or variables of a type; for a function its linkage.
fn count(bytes: &[u8], at: usize) -> Option<usize> {
    word(bytes, at + 4).map(|info| info & 0xffff)
}

/// Reads a number of four bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

/// Offset, in the header of `.BTF.ext`, of the part about functions.
pub(super) const FUNCTIONS: usize = 8;
pub(super) const ACCESSES: usize = 24;

/// BTF kind of integer types (`BTF_KIND_INT` in the kernel's documentation).
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
pub(super) const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
pub(super) const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
pub(super) const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const FLOAT: u32 = 16;
const TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

const MAGIC: u16 = 0xeb9f;
/// Bytes of the fixed part of a description.
const FIXED: usize = 12;
/// Linkage number of functions that belong to the kernel.
const EXTERNAL: usize = 2;
/// Distance between members of a structure that represents a section, bytes.
const WIDTH: usize = 4;
/// Largest number of typedefs, qualifiers and arrays that are followed to find the size of a type.
const MAX_DEPTH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::elf::Elf;
    use crate::kernel::programs::COMPILED;

    #[test]
    fn the_compiled_file_is_understood() {
        let elf = Elf::parse(COMPILED);
        let types = Btf::parse(elf.section(".BTF").data).expect("descriptions of types");
        let flow = types.find(STRUCT, "flow").expect("the state of a connection");
        let members = types.members(flow).expect("a structure");
        assert!(members.iter().any(|member| member.name == "delivered"));
        assert!(types.size(flow) > Some(members.last().expect("members").offset));
        let operations = types.find(STRUCT, "tcp_congestion_ops").expect("the controls");
        let name = types.members(operations).expect("a structure")[0];
        assert_eq!((name.name, name.offset, types.size(name.of)), ("name", 0, Some(16)));
        // The kernel accepts neither variables nor sections nor functions of its own.
        let bytes = types.for_the_kernel().expect("descriptions of types");
        let for_the_kernel = Btf::parse(&bytes).expect("descriptions of types");
        assert_eq!(for_the_kernel.starts, types.starts);
        for &at in &for_the_kernel.starts {
            let kind = kind(&bytes, at).expect("a kind");
            assert!(kind != VARIABLE && kind != SECTION);
            assert!(kind != FUNCTION || count(&bytes, at) != Some(EXTERNAL));
        }
    }

    #[test]
    fn damaged_descriptions_are_refused() {
        let whole = Elf::parse(COMPILED).section(".BTF").data.to_vec();
        let look = |bytes: &[u8]| {
            let types = Btf::parse(bytes)?;
            types.find(STRUCT, "flow");
            for of in 0..=u32::try_from(types.starts.len()).expect("few types") + 1 {
                let _ = (types.members(of), types.size(of), types.target(of), types.elements(of));
            }
            Some(types.starts.len())
        };
        assert!(look(&whole).is_some());
        for length in (0..whole.len()).step_by(7) {
            assert_eq!(look(&whole[..length]), None, "{length} bytes");
        }
        // Damaged descriptions must neither panic nor loop for long.
        for at in 0..whole.len().min(4096) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = look(&damaged);
        }
    }
}
