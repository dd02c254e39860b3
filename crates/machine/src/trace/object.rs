//! The built object (bpf/ipcmark.bpf.o, ELF): its programs, maps and variables, and what of them
//! names what.
//!
//! It is part of this program, so that one that isn't as it should be is a bug; [`Object::read`] says what
//! is wrong with it. It needs nothing of the running kernel's types, and therefore no more of a loader than
//! this.

use sys::bpf::Shape;

/// The object as it was built.
pub const BUILT: &[u8] = include_bytes!("../../../../bpf/ipcmark.bpf.o");

/// A program: its section's name, and its instructions.
pub struct Program {
    /// The tracepoint that it is for, or a group of these.
    pub name: String,
    instructions: Vec<u8>,
    /// Offset of an instruction, and what it loads the address of.
    names: Vec<(usize, RelocationTarget)>,
}

/// What an instruction may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationTarget {
    /// A map, by its place among the maps.
    Map(usize),
    /// A variable that the loader sets, by its offset.
    Setting(u32),
    /// A variable of the programs, by its offset.
    Variable(u32),
}

/// The object, parsed.
pub struct Object {
    /// The programs.
    pub programs: Vec<Program>,
    /// The maps, by name.
    pub maps: Vec<(String, Shape)>,
    /// What the loader sets, as built.
    pub settings: Vec<u8>,
    /// Bytes of the programs' variables.
    pub variables: u32,
    /// Where each variable lies, by name.
    pub places: Vec<(String, RelocationTarget)>,
}

impl Program {
    /// The instructions with every name replaced: `descriptor` of a map or of the map that holds
    /// the variables.
    pub fn bound(&self, descriptor: impl Fn(RelocationTarget) -> i32) -> Vec<u8> {
        const MAP: u8 = 1;
        const MAP_VALUE: u8 = 2;
        let mut code = self.instructions.clone();
        for &(at, place) in &self.names {
            // Two halves of 8 bytes: operation, registers, offset, and 32 bits of the value each.
            let (kind, offset) = match place {
                RelocationTarget::Map(_) => (MAP, 0),
                RelocationTarget::Setting(offset) | RelocationTarget::Variable(offset) => {
                    (MAP_VALUE, offset)
                }
            };
            let addend = u32_at(&code, at + 4);
            code[at + 1] = code[at + 1] & 0x0f | kind << 4;
            code[at + 4..at + 8].copy_from_slice(&descriptor(place).to_le_bytes());
            code[at + 12..at + 16].copy_from_slice(&offset.wrapping_add(addend).to_le_bytes());
        }
        code
    }
}

impl Object {
    /// Parses `bytes`.
    ///
    /// # Errors
    /// Why it isn't a little-endian object for this virtual machine, with names it knows.
    pub fn read(bytes: &[u8]) -> Result<Object, String> {
        const MACHINE: u16 = 247;
        let machine = part(bytes, 18, 2).map(|part| u16_at(part, 0));
        if !bytes.starts_with(b"\x7fELF\x02\x01") || machine != Ok(MACHINE) {
            return Err("it is no little-endian object for the kernel's virtual machine".into());
        }
        let sections = Section::all(bytes)?;
        let symbols = Symbol::all(&sections)?;
        let place = |symbol: &Symbol| {
            let section =
                sections.get(symbol.section).map_or("no section", |section| &section.name);
            match section {
                "maps" => Ok(RelocationTarget::Map(symbol.offset as usize / MAP_BYTES)),
                ".rodata" => Ok(RelocationTarget::Setting(symbol.offset)),
                ".bss" => Ok(RelocationTarget::Variable(symbol.offset)),
                other => Err(format!("`{}` is in {other}", symbol.name)),
            }
        };
        let program = |(nth, section): (usize, &Section)| {
            let names = sections.iter().find(|section| section.kind == REL && section.info == nth);
            let names = names.map_or(&[][..], |names| names.bytes).chunks_exact(16).map(|entry| {
                let at = u64_at(entry, 0) as usize;
                part(section.bytes, at, 16).map_err(|_| "it names something in no instruction")?;
                let symbol = symbols.get(u32_at(entry, 12) as usize).ok_or("a name is missing")?;
                Ok((at, place(symbol)?))
            });
            let names = names.collect::<Result<_, String>>()?;
            let (name, instructions) = (section.name.clone(), section.bytes.to_vec());
            Ok(Program { name, instructions, names })
        };
        let code = sections.iter().enumerate().filter(|(_, section)| section.is_code());
        let named = |name: &str| {
            let found = sections.iter().find(|section| section.name == name);
            found.ok_or_else(|| format!("it has no section `{name}`"))
        };
        // What lies elsewhere is no map and no variable: the programs themselves.
        let named_symbols = symbols.iter().filter(|symbol| !symbol.name.is_empty());
        let places: Vec<(String, RelocationTarget)> = named_symbols
            .filter_map(|symbol| Some((symbol.name.clone(), place(symbol).ok()?)))
            .collect();
        let mut maps: Vec<(String, Shape)> = Vec::new();
        for (nth, bytes) in named("maps")?.bytes.chunks_exact(MAP_BYTES).enumerate() {
            let of =
                |(_, target): &&(String, RelocationTarget)| *target == RelocationTarget::Map(nth);
            let (name, _) = places.iter().find(of).ok_or("a map has no name")?;
            maps.push((name.clone(), shape(bytes)));
        }
        Ok(Object {
            programs: code.map(program).collect::<Result<_, String>>()?,
            maps,
            settings: named(".rodata")?.bytes.to_vec(),
            variables: named(".bss")?.size,
            places,
        })
    }

    /// The offset of a variable or setting.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn offset(&self, name: &str) -> usize {
        match self.places.iter().find(|(known, _)| known == name) {
            Some((_, RelocationTarget::Setting(offset) | RelocationTarget::Variable(offset))) => {
                *offset as usize
            }
            _ => panic!("no variable {name}"),
        }
    }
}

/// Bytes of `struct map` (bpf/bpf.h).
const MAP_BYTES: usize = 20;
/// EventKind of a section that says which instructions name what.
const REL: u32 = 9;
/// EventKind of a section that the file holds.
const PROGBITS: u32 = 1;
/// EventKind of a section that the file doesn't hold: it is zero.
const NOBITS: u32 = 8;
/// EventKind of the section of symbols.
const SYMTAB: u32 = 2;

fn shape(bytes: &[u8]) -> Shape {
    let [kind, key_bytes, value_bytes, entries, flags] =
        [0, 4, 8, 12, 16].map(|at| u32_at(bytes, at));
    Shape { kind, key_bytes, value_bytes, entries, flags }
}

struct Section<'a> {
    name: String,
    kind: u32,
    executable: bool,
    bytes: &'a [u8],
    size: u32,
    link: usize,
    info: usize,
}

impl<'a> Section<'a> {
    fn all(file: &'a [u8]) -> Result<Vec<Section<'a>>, String> {
        const EXECUTABLE: u64 = 4;
        let head = part(file, 0, 64)?;
        let (table, count) = (u64_at(head, 40) as usize, u16_at(head, 60) as usize);
        let header = |nth: usize| part(file, table.saturating_add(64 * nth), 64);
        let bytes = |header: &[u8]| {
            let (start, size) = (u64_at(header, 24) as usize, u64_at(header, 32) as usize);
            if u32_at(header, 4) == NOBITS { Ok(&file[..0]) } else { part(file, start, size) }
        };
        let names = bytes(header(u16_at(head, 62) as usize)?)?;
        let section = |nth| {
            let header = header(nth)?;
            Ok(Section {
                name: text(names, u32_at(header, 0))?,
                kind: u32_at(header, 4),
                executable: u64_at(header, 8) & EXECUTABLE != 0,
                bytes: bytes(header)?,
                size: u64_at(header, 32) as u32,
                link: u32_at(header, 40) as usize,
                info: u32_at(header, 44) as usize,
            })
        };
        (0..count).map(section).collect()
    }

    fn is_code(&self) -> bool {
        self.kind == PROGBITS && self.executable && !self.bytes.is_empty()
    }
}

struct Symbol {
    name: String,
    section: usize,
    offset: u32,
}

impl Symbol {
    fn all(sections: &[Section<'_>]) -> Result<Vec<Symbol>, String> {
        let table =
            sections.iter().find(|section| section.kind == SYMTAB).ok_or("it has no symbols")?;
        let names = sections.get(table.link).ok_or("its symbols have no names")?.bytes;
        let symbol = |entry: &[u8]| {
            Ok(Symbol {
                name: text(names, u32_at(entry, 0))?,
                section: u16_at(entry, 6) as usize % 0xff00,
                offset: u64_at(entry, 8) as u32,
            })
        };
        table.bytes.chunks_exact(24).map(symbol).collect()
    }
}

fn text(names: &[u8], at: u32) -> Result<String, String> {
    let names = names.get(at as usize..).ok_or("a name's offset is beyond the string table")?;
    let bytes = names.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// So many bytes of `bytes`, from `at` on.
fn part(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    let found = at.checked_add(length).and_then(|end| bytes.get(at..end));
    found.ok_or_else(|| format!("it ends before byte {at} + {length}"))
}

/// Two bytes at `at`, little end first.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// Four bytes at `at`, little end first.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Eight bytes at `at`, little end first.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_object_holds_what_the_loader_looks_for() {
        let object = Object::read(BUILT).unwrap();
        let names: Vec<&str> =
            object.programs.iter().map(|program| program.name.as_str()).collect();
        for point in super::super::points::POINTS.iter().map(|point| point.program) {
            assert!(names.contains(&point), "{point} in {names:?}");
        }
        let maps: Vec<&str> = object.maps.iter().map(|pair| pair.0.as_str()).collect();
        assert_eq!(maps, ["tallies", "firings", "events"]);
        for name in ["name_head", "name_tail", "empty", "room", "third", "workers", "stream"] {
            object.offset(name);
        }
    }

    #[test]
    fn an_instruction_that_names_something_is_bound_to_its_descriptor() {
        let object = Object::read(BUILT).unwrap();
        for program in &object.programs {
            assert!(!program.names.is_empty(), "{}", program.name);
            let code = program.bound(|place| match place {
                RelocationTarget::Map(nth) => 100 + nth as i32,
                RelocationTarget::Setting(_) => 7,
                RelocationTarget::Variable(_) => 8,
            });
            for &(at, place) in &program.names {
                let (kind, descriptor) = (code[at + 1] >> 4, u32_at(&code, at + 4));
                match place {
                    RelocationTarget::Map(nth) => {
                        assert_eq!((kind, descriptor), (1, 100 + nth as u32))
                    }
                    RelocationTarget::Setting(_) => assert_eq!((kind, descriptor), (2, 7)),
                    RelocationTarget::Variable(_) => assert_eq!((kind, descriptor), (2, 8)),
                }
                assert_eq!(code[at], 0x18, "a load of 64 bits");
            }
        }
    }

    #[test]
    fn an_object_that_is_cut_off_or_changed_is_refused_or_bound_as_it_is() {
        for length in (0..BUILT.len()).step_by(997) {
            assert!(Object::read(&BUILT[..length]).is_err(), "{length} bytes");
        }
        let mut bytes = BUILT.to_vec();
        let read = |bytes: &[u8]| {
            let object = Object::read(bytes).ok()?;
            Some(object.programs.iter().map(|program| program.bound(|_| 3).len()).sum::<usize>())
        };
        let whole = read(&bytes);
        assert!(whole.is_some());
        let mut refused = 0;
        for at in (0..64).chain((64..bytes.len()).step_by(97)) {
            let was = std::mem::replace(&mut bytes[at], 0xff);
            refused += usize::from(read(&bytes).is_none());
            bytes[at] = was;
        }
        assert!(refused > 10, "{refused}");
        assert_eq!(read(&bytes), whole);
    }
}
