//! The compiled file: sections, symbols and relocations of an ELF file with 64 bits, little endian.
//!
//! The file is part of this program, so that a damaged file is a mistake of the build and causes a panic.

/// Sections and symbols of a compiled ELF file.
pub(super) struct Elf<'a> {
    pub(super) sections: Vec<Section<'a>>,
    pub(super) symbols: Vec<Symbol<'a>>,
}

/// A section with its relocations.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) data: &'a [u8],
    pub(super) relocations: Vec<Relocation>,
}

/// A place in a section that depends on a symbol.
#[derive(Clone, Copy)]
pub(super) struct Relocation {
    pub(super) offset: usize,
    /// Index of the symbol to which the relocation refers.
    pub(super) symbol: usize,
}

/// A named position in a section.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    /// Index of the symbol's section; 0 for a symbol of the kernel.
    pub(super) section: usize,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) is_function: bool,
}

impl<'a> Elf<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Self {
        assert!(file.starts_with(b"\x7fELF\x02\x01"), "an ELF file with 64 bits, little endian");
        let (first, number) = (long(file, 40), short(file, 60));
        let headers: Vec<_> = (0..number).map(|index| &file[first + index * HEADER..][..HEADER]).collect();
        let names = content(file, headers[short(file, 62)]);
        let mut elf = Self { sections: Vec::new(), symbols: Vec::new() };
        for header in &headers {
            let data = content(file, header);
            let name = text(names, word(header, 0));
            elf.sections.push(Section { name, data, relocations: Vec::new() });
        }
        for header in headers {
            let data = content(file, header);
            match word(header, 4) {
                SYMBOLS => {
                    let strings = elf.sections[word(header, 40)].data;
                    elf.symbols = data.chunks_exact(24).map(|entry| symbol(entry, strings)).collect();
                }
                RELOCATIONS => {
                    let relocations = data.chunks_exact(16).map(relocation).collect();
                    elf.sections[word(header, 44)].relocations = relocations;
                }
                _ => {}
            }
        }
        elf
    }

    /// The index of the section with this name.
    pub(super) fn index(&self, name: &str) -> usize {
        let found = self.sections.iter().position(|section| section.name == name);
        found.expect("the compiled file has this section")
    }

    /// The section with this name.
    pub(super) fn section(&self, name: &str) -> &Section<'a> {
        &self.sections[self.index(name)]
    }

    /// The symbol with this name.
    pub(super) fn symbol(&self, name: &str) -> &Symbol<'a> {
        self.symbols.iter().find(|symbol| symbol.name == name).expect("the compiled file has this symbol")
    }
}

impl Section<'_> {
    /// The relocations between two positions, with offsets relative to the first.
    pub(super) fn relocations_in(&self, start: usize, size: usize) -> impl Iterator<Item = Relocation> {
        let inside = self.relocations.iter().filter(move |one| (start..start + size).contains(&one.offset));
        inside.map(move |one| Relocation { offset: one.offset - start, ..*one })
    }
}

fn symbol<'a>(entry: &[u8], strings: &'a [u8]) -> Symbol<'a> {
    // Indices from 0xff00 on are reserved and refer to no section.
    let section = Some(short(entry, 6)).filter(|index| *index < 0xff00).unwrap_or(0);
    Symbol {
        name: text(strings, word(entry, 0)),
        section,
        offset: long(entry, 8),
        size: long(entry, 16),
        is_function: entry[4] & 0xf == FUNCTION,
    }
}

fn relocation(entry: &[u8]) -> Relocation {
    Relocation { offset: long(entry, 0), symbol: word(entry, 12) }
}

fn content<'a>(file: &'a [u8], header: &[u8]) -> &'a [u8] {
    &file[long(header, 24)..][..long(header, 32)]
}

fn text(strings: &[u8], at: usize) -> &str {
    let bytes = strings[at..].split(|byte| *byte == 0).next().expect("a split has a first part");
    std::str::from_utf8(bytes).expect("names are ASCII")
}

fn short(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes")))
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

fn long(bytes: &[u8], at: usize) -> usize {
    let long = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    usize::try_from(long).expect("the file is small")
}

/// Length of a section header, bytes.
const HEADER: usize = 64;
/// Type of a section with symbols.
const SYMBOLS: usize = 2;
const RELOCATIONS: usize = 9;
/// Symbol type of functions.
const FUNCTION: u8 = 2;
