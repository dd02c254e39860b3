//! The built object (bpf/ipcmark.bpf.o, ELF): its programs, maps and variables, and what of them
//! names what.
//!
//! It is part of this program, so that one that isn't as it should be is a bug; [`Object::read`] says what
//! is wrong with it. It needs nothing of the running kernel's types, and therefore no more of a loader than
//! this.

use std::error::Error;

use super::decode::u32_at;
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{
    Architecture, LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _,
    RelocationTarget as NamedBy, SectionKind,
};
use sys::bpf::Shape;

type Elf<'a> = ElfFile64<'a, LittleEndian>;
type Symbol<'a> = ElfSymbol64<'a, 'a, LittleEndian>;

/// The object as it was built.
pub const BUILT: &[u8] = include_bytes!("../../bpf/ipcmark.bpf.o");

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

pub struct Object {
    pub programs: Vec<Program>,
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
        let file = Elf::parse(bytes).map_err(|error| error.to_string())?;
        if file.architecture() != Architecture::Bpf {
            return Err("it is no object for the kernel's virtual machine".into());
        }
        Object::of(&file).map_err(|error| error.to_string())
    }

    fn of(file: &Elf<'_>) -> Result<Object, Box<dyn Error>> {
        let place = |symbol: &Symbol<'_>| -> Result<RelocationTarget, Box<dyn Error>> {
            let section = symbol.section_index().ok_or("a name is in no section")?;
            let offset = symbol.address() as u32;
            match file.section_by_index(section)?.name()? {
                "maps" => Ok(RelocationTarget::Map(offset as usize / MAP_BYTES)),
                ".rodata" => Ok(RelocationTarget::Setting(offset)),
                ".bss" => Ok(RelocationTarget::Variable(offset)),
                other => Err(format!("`{}` is in {other}", symbol.name()?).into()),
            }
        };
        let mut programs = Vec::new();
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let instructions = section.data()?.to_vec();
            if instructions.is_empty() {
                continue;
            }
            let mut names = Vec::new();
            for (at, relocation) in section.relocations() {
                let at = at as usize;
                if at.checked_add(16).is_none_or(|end| end > instructions.len()) {
                    return Err("it names something in no instruction".into());
                }
                let NamedBy::Symbol(symbol) = relocation.target() else {
                    return Err("a name is missing".into());
                };
                names.push((at, place(&file.symbol_by_index(symbol)?)?));
            }
            programs.push(Program { name: section.name()?.into(), instructions, names });
        }
        // What lies elsewhere is no map and no variable: the programs themselves.
        let mut places = Vec::new();
        for symbol in file.symbols() {
            match (symbol.name()?, place(&symbol)) {
                ("", _) | (_, Err(_)) => {}
                (name, Ok(place)) => places.push((name.to_string(), place)),
            }
        }
        let section = |name: &str| {
            let found = file.section_by_name(name);
            found.ok_or_else(|| format!("it has no section `{name}`"))
        };
        let mut maps: Vec<(String, Shape)> = Vec::new();
        for (nth, bytes) in section("maps")?.data()?.chunks_exact(MAP_BYTES).enumerate() {
            let names_it = |(_, place): &&(String, _)| *place == RelocationTarget::Map(nth);
            let (name, _) = places.iter().find(names_it).ok_or("a map has no name")?;
            maps.push((name.clone(), shape(bytes)));
        }
        Ok(Object {
            programs,
            maps,
            settings: section(".rodata")?.data()?.to_vec(),
            variables: section(".bss")?.size() as u32,
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

fn shape(bytes: &[u8]) -> Shape {
    let [kind, key_bytes, value_bytes, entries, flags] =
        [0, 4, 8, 12, 16].map(|at| u32_at(bytes, at));
    Shape { kind, key_bytes, value_bytes, entries, flags }
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
