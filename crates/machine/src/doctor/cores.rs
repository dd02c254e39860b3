//! Whether the CPUs used are of one kind of core.

use super::guest::{hidden_by, is_guest};
use super::speed::frequency_words;
use super::{Check, Finding, Seen};
use crate::format_cpu_list;
use model::host::Cores;

const CORES: Check = Check {
    name: "cores",
    wanted: "all CPUs used are of one kind of core",
    effect: "A slow core answers a fast one: such a pair shows the slower of them, and what is measured on one kind \
             can't be compared with what is measured on another.",
    advice: "name CPUs of one kind (-p CPU,CPU), unless two kinds are what is to be measured.",
};

pub(super) fn cores(seen: &Seen) -> Finding {
    let used = |cores: &Cores| Cores {
        cpus: cores.cpus.iter().filter(|cpu| seen.cpus.contains(cpu)).copied().collect(),
        ..cores.clone()
    };
    let used: Vec<Cores> =
        seen.host.cores.iter().map(used).filter(|cores| !cores.cpus.is_empty()).collect();
    // A guest's kernel gives every CPU the capacity that it gives where it knows nothing.
    let is_told = |cores: &Cores| {
        let capacity = cores.capacity.filter(|_| !is_guest(seen.host));
        cores.family.is_some() || capacity.is_some() || cores.max_khz.is_some()
    };
    if !used.iter().any(is_told) {
        return CORES.unknown(
            format!(
                "which kind of core a CPU is, and how fast it may run: {}",
                hidden_by(seen.host)
            ),
            "see `lscpu -e` on the host.",
        );
    }
    let found: Vec<String> = used.iter().map(words).collect();
    let found = found.join("; ");
    if used.iter().any(|cores| cores.kind != used[0].kind) {
        return CORES.warning(format!("of different kinds: {found}"));
    }
    CORES.fine(found)
}

/// `CPUs 2,4: cpu_core, capacity 1024, at most 4.80 GHz`.
fn words(cores: &Cores) -> String {
    let facts = [
        cores.family.clone(),
        cores.capacity.map(|capacity| format!("capacity {capacity}")),
        cores.max_khz.map(|khz| format!("at most {}", frequency_words(khz))),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let of = if cores.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let facts = if facts.is_empty() { "nothing is said of it".into() } else { facts.join(", ") };
    format!("{of} {}: {facts}", format_cpu_list(&cores.cpus))
}
