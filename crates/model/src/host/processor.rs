//! The CPU's make.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Make and model of the CPUs. Fields that an architecture doesn't have are `None`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Processor {
    /// The architecture this program was built for, as Rust names it (`x86_64`, `aarch64`).
    pub architecture: String,
    /// x86 `vendor_id`, ARM `CPU implementer` (0x41 is Arm).
    pub vendor: Option<String>,
    /// x86 `model name`, RISC-V `uarch`; on ARM usually absent, see `parts`.
    pub name: Option<String>,
    /// x86 `cpu family`.
    pub family: Option<u32>,
    /// x86 `model`.
    pub model: Option<u32>,
    /// x86 `stepping`.
    pub stepping: Option<u32>,
    /// x86 `microcode`, of the first CPU; hypervisors may make it up.
    pub microcode: Option<String>,
    /// ARM: the distinct cores as `implementer/part/variant/revision`, in the order of their
    /// first CPU. Empty on x86. At most the CPUs in the first 32 KiB of the file, some fifty.
    pub parts: Vec<String>,
    /// The board, from the device tree (/sys/firmware/devicetree/base/model). `None` on x86.
    pub board: Option<String>,
    /// Flags on which the clock and wake-ups hinge, of those the first CPU has: `constant_tsc`,
    /// `nonstop_tsc`, `tsc_known_freq`, `tsc_reliable`, `rdtscp`, `waitpkg`, `monitor`, `erms`,
    /// `fsrm`, `atomics`, `evtstrm`, `wfxt`. Empty also where there is no list of flags.
    pub flags: Vec<String>,
}
