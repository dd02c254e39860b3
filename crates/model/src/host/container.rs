//! Is this a guest, is this a container? Signs are recorded as found, because none is proof.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The signs of a hypervisor below this kernel.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Hypervisor {
    /// The `hypervisor` flag of /proc/cpuinfo. `None` off x86, which has no such flag.
    pub flag: Option<bool>,
    /// /sys/hypervisor/type (`xen`), or the device tree's `hypervisor/compatible`. `None` where
    /// neither is there: most guests have neither.
    pub kind: Option<String>,
    /// DMI system vendor (/sys/class/dmi/id/sys_vendor). `None` without DMI: ARM boards, small
    /// virtual machines.
    pub vendor: Option<String>,
    /// DMI product name (/sys/class/dmi/id/product_name). `None` as above.
    pub product: Option<String>,
    /// The device of the paravirtual clock is offered (`kvm-clock`, `xen`, `hyperv…` among the
    /// clock sources): its name.
    pub clock: Option<String>,
}

/// The signs of a container.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Container {
    /// The first sign's name: `docker`, `podman`, `kubernetes`, `lxc`, … `None` without a sign.
    pub kind: Option<String>,
    /// What was found and where, such as `docker (/.dockerenv)`; empty outside containers.
    pub signs: Vec<String>,
    /// `Seccomp` of /proc/self/status: 0 for no filter, 1 strict, 2 filters, each of which every
    /// system call runs through. `None` in kernels built without it.
    pub seccomp: Option<u32>,
}
