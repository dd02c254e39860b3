//! Caches and memory. Caches of one kind are one record with the CPUs of each instance: a machine with 64
//! cores has 64 equal L2 caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of cache: level, type, size and line.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Cache {
    /// 1 is closest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`, as the kernel says.
    pub kind: String,
    /// Bytes. `None` where the firmware doesn't tell (ARM).
    pub size_bytes: Option<u64>,
    /// `coherency_line_size`, bytes. `None` as above.
    pub line_bytes: Option<u64>,
    /// The CPUs of each instance; as many entries as there are such caches with an online CPU.
    pub shared_by: Vec<Vec<u32>>,
}

/// Size and nodes of the memory.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Memory {
    /// `MemTotal` of /proc/meminfo, bytes: of the machine, whatever the control group allows.
    pub total_bytes: Option<u64>,
    /// `MemAvailable`, bytes.
    pub available_bytes: Option<u64>,
    /// `SwapTotal`, bytes.
    pub swap_bytes: Option<u64>,
    /// The page size of this process's memory, bytes.
    pub page_bytes: u64,
    /// Memory nodes (/sys/devices/system/node). Empty in kernels without NUMA.
    pub nodes: Vec<Node>,
}

/// One memory node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Node {
    /// The number in `node0`.
    pub id: u32,
    /// Its online CPUs; empty for a node of memory only.
    pub cpus: Vec<u32>,
    /// `MemTotal` of its meminfo, bytes.
    pub total_bytes: Option<u64>,
    /// Distances to all nodes, 10 being its own (ACPI SLIT).
    pub distances: Vec<u32>,
}
