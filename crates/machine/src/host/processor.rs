//! The CPU's make, from /proc/cpuinfo: x86 names vendor, family, model and stepping there; ARM
//! gives part numbers for each core, and the board's name is in the device tree.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use model::host::Processor;

use crate::tree;

/// How much of /proc/cpuinfo is read. On x86 the first CPU fills 3 KiB and the others repeat it;
/// printing all of a 256-CPU machine would take milliseconds.
const ENOUGH: u64 = 32 * 1024;

const FLAGS: [&str; 12] = [
    "constant_tsc",
    "nonstop_tsc",
    "tsc_known_freq",
    "tsc_reliable",
    "rdtscp",
    "waitpkg",
    "monitor",
    "erms",
    "fsrm",
    "atomics",
    "evtstrm",
    "wfxt",
];

pub(super) fn read(root: &Path) -> Processor {
    let board = tree::text(root, "sys/firmware/devicetree/base/model");
    Processor { board, ..parse(&cpuinfo(root)) }
}

/// The beginning of /proc/cpuinfo, enough for the first CPUs; empty where it can't be read.
pub(super) fn cpuinfo(root: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(root.join("proc/cpuinfo")) {
        let _ = file.take(ENOUGH).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the first CPU says it runs under a hypervisor; `None` where it has no such list
/// (ARM has no flag for it).
pub(super) fn hypervisor_flag(cpuinfo: &str) -> Option<bool> {
    Some(value(stanzas(cpuinfo).next()?, "flags")?.split(' ').any(|flag| flag == "hypervisor"))
}

fn parse(cpuinfo: &str) -> Processor {
    let first = stanzas(cpuinfo).next().unwrap_or("");
    let text = |key| value(first, key).map(str::to_owned);
    let number = |key| value(first, key)?.parse().ok();
    let flags = value(first, "flags").or_else(|| value(first, "Features")).unwrap_or("");
    let mut parts: Vec<String> = Vec::new();
    for part in stanzas(cpuinfo).filter_map(part) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Processor {
        architecture: std::env::consts::ARCH.to_owned(),
        vendor: text("vendor_id").or_else(|| text("CPU implementer")),
        name: text("model name").or_else(|| text("uarch")),
        family: number("cpu family"),
        model: number("model"),
        stepping: number("stepping"),
        microcode: text("microcode"),
        parts,
        board: None,
        flags: flags.split(' ').filter(|flag| FLAGS.contains(flag)).map(str::to_owned).collect(),
    }
}

/// The paragraphs of the file: one for each CPU, and on some boards one for the board.
fn stanzas(cpuinfo: &str) -> impl Iterator<Item = &str> {
    cpuinfo.split("\n\n").filter(|stanza| !stanza.trim().is_empty())
}

/// The value of a `key : value` line.
fn value<'a>(stanza: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = stanza.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

fn part(stanza: &str) -> Option<String> {
    let keys = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"];
    let values = keys.map(|key| value(stanza, key));
    values[1]?; // the stanza that the read cut off in the middle has no part yet
    values[3]?;
    Some(values.map(|value| value.unwrap_or("?")).join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    const EPYC: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n\
        model name\t: AMD EPYC\nstepping\t: 1\nmicrocode\t: 0x1000065\ncpu MHz\t\t: 2445.424\n\
        flags\t\t: fpu tsc msr rdtscp lm constant_tsc nonstop_tsc cpuid hypervisor erms fsrm\n\
        bugs\t\t: spectre_v1\npower management:\n\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n";

    const BIG_LITTLE: &str = "processor\t: 0\nBogoMIPS\t: 48.00\n\
        Features\t: fp asimd evtstrm aes atomics cpuid\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU variant\t: 0x2\nCPU part\t: 0xd05\nCPU revision\t: 0\n\n\
        processor\t: 1\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x2\n\
        CPU part\t: 0xd05\nCPU revision\t: 0\n\nprocessor\t: 4\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU variant\t: 0x4\nCPU part\t: 0xd0b\nCPU revision\t: 0\n\n\
        processor\t: 5\nCPU implementer\t: 0x41\nCPU par";

    #[test]
    fn x86_names_itself() {
        let epyc = parse(EPYC);
        assert_eq!(epyc.vendor.as_deref(), Some("AuthenticAMD"));
        assert_eq!(epyc.name.as_deref(), Some("AMD EPYC"));
        assert_eq!((epyc.family, epyc.model, epyc.stepping), (Some(25), Some(1), Some(1)));
        assert_eq!(epyc.microcode.as_deref(), Some("0x1000065"));
        assert_eq!(epyc.flags, ["rdtscp", "constant_tsc", "nonstop_tsc", "erms", "fsrm"]);
        assert!(epyc.parts.is_empty());
        assert_eq!(hypervisor_flag(EPYC), Some(true));
        assert_eq!(hypervisor_flag(&EPYC.replace(" hypervisor", "")), Some(false));
    }

    #[test]
    fn arm_has_parts_and_a_board() {
        let root = stored::machine("arm-board");
        stored::add(root.path(), [("proc/cpuinfo", BIG_LITTLE)]);
        let board = read(root.path());
        assert_eq!(board.parts, ["0x41/0xd05/0x2/0", "0x41/0xd0b/0x4/0"]);
        assert_eq!(board.vendor.as_deref(), Some("0x41"));
        assert_eq!((board.name, board.family, board.microcode), (None, None, None));
        assert_eq!(board.flags, ["evtstrm", "atomics"]);
        assert_eq!(board.board.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(hypervisor_flag(BIG_LITTLE), None);
    }

    #[test]
    fn nothing_is_read_from_nothing() {
        let unknown =
            Processor { architecture: std::env::consts::ARCH.into(), ..Default::default() };
        assert_eq!(parse(""), unknown);
    }
}
