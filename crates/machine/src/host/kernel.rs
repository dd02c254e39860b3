//! The kernel: release, boot line, preemption, tick, scheduler slice, mitigations, clock source,
//! huge pages. debugfs is often hidden (not mounted, or not for this user); what only it knows
//! is then `None`, and the preemption mode names where it was found.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use model::host::{ClockSource, HugePages, Kernel, Preemption};

use crate::tree;
use sys::process::scheduler_slice_ns;

/// Enough of a kernel's configuration: real ones have some 300 KiB.
const CONFIG_AT_MOST: u64 = 4 << 20;

pub(super) fn kernel(root: &Path) -> Kernel {
    let sysctl = |name: &str| tree::text(root, &format!("proc/sys/kernel/{name}"));
    let debug = |name: &str| tree::number(root, &format!("sys/kernel/debug/sched/{name}"));
    let release = sysctl("osrelease");
    let version = sysctl("version");
    let boot_line = tree::text(root, "proc/cmdline");
    let config = release.as_deref().and_then(|release| config(root, release));
    let flaws = "sys/devices/system/cpu/vulnerabilities";
    let mitigation = |flaw: String| {
        let state = tree::text(root, &format!("{flaws}/{flaw}"))?;
        Some((flaw, state))
    };
    Kernel {
        preemption: preemption(
            tree::text(root, "sys/kernel/debug/sched/preempt").as_deref(),
            boot_line.as_deref(),
            config.as_deref(),
            version.as_deref(),
        ),
        hz: config.as_deref().and_then(|config| option(config, "CONFIG_HZ")?.parse().ok()),
        scheduler_slice_ns: debug("base_slice_ns")
            .or_else(|| debug("min_granularity_ns"))
            .or_else(|| (root == Path::new("/")).then(scheduler_slice_ns).flatten()),
        sched_ext: tree::text(root, "sys/kernel/sched_ext/root/ops"),
        autogroup: tree::switch(root, "proc/sys/kernel/sched_autogroup_enabled"),
        mitigations: tree::names(root, flaws).into_iter().filter_map(mitigation).collect(),
        tainted: tree::number(root, "proc/sys/kernel/tainted"),
        release,
        version,
        boot_line,
    }
}

fn config(root: &Path, release: &str) -> Option<String> {
    tree::text(root, &format!("boot/config-{release}"))
        .or_else(|| tree::text(root, &format!("lib/modules/{release}/config")))
        .or_else(|| unpacked(&root.join("proc/config.gz")))
}

fn unpacked(path: &Path) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(File::open(path).ok()?).take(CONFIG_AT_MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The value of an option of a kernel configuration.
fn option<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// The mode from the best source there is.
fn preemption(
    debug: Option<&str>,
    boot_line: Option<&str>,
    config: Option<&str>,
    version: Option<&str>,
) -> Option<Preemption> {
    let found = |mode: &str, source: &str| {
        Some(Preemption { mode: mode.to_owned(), source: source.to_owned() })
    };
    if let Some(mode) = debug.and_then(|modes| chosen(modes, '(', ')')) {
        return found(mode, "/sys/kernel/debug/sched/preempt");
    }
    let asked = boot_line.and_then(|line| {
        line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("preempt=")).next_back()
    });
    if let Some(mode) = asked {
        return found(mode, "boot line");
    }
    let built = [
        ("CONFIG_PREEMPT_RT", "rt"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_NONE", "none"),
    ];
    if let Some((_, mode)) =
        config.and_then(|config| built.iter().find(|(name, _)| option(config, name) == Some("y")))
    {
        return found(mode, "build configuration");
    }
    let words: Vec<&str> = version?.split_ascii_whitespace().collect();
    const MODES: [(&str, &str); 4] = [
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_DYNAMIC", "dynamic"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
    ];
    let mode = MODES.iter().find(|(word, _)| words.contains(word));
    found(mode.map_or("none or voluntary", |(_, mode)| mode), "uname -v")
}

/// The marked one of several choices: `always [madvise] never`.
fn chosen(choices: &str, open: char, close: char) -> Option<&str> {
    choices
        .split_ascii_whitespace()
        .find_map(|choice| choice.strip_prefix(open)?.strip_suffix(close))
}

pub(super) fn clock_source(root: &Path) -> ClockSource {
    let dir = "sys/devices/system/clocksource/clocksource0";
    ClockSource {
        current: tree::text(root, &format!("{dir}/current_clocksource")),
        available: tree::text(root, &format!("{dir}/available_clocksource"))
            .map(|names| names.split_ascii_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}

pub(super) fn huge_pages(root: &Path) -> HugePages {
    let setting = |name: &str| {
        let choices = tree::text(root, &format!("sys/kernel/mm/transparent_hugepage/{name}"))?;
        chosen(&choices, '[', ']').map(str::to_owned)
    };
    HugePages {
        enabled: setting("enabled"),
        defrag: setting("defrag"),
        shared_memory: setting("shmem_enabled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    const DYNAMIC: &str = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1 (2024-05-03)";

    #[test]
    fn the_mode_in_force_goes_before_what_was_asked_for() {
        let debug = Some("none voluntary (full) lazy ");
        let boot = Some("quiet preempt=none root=/dev/sda preempt=voluntary");
        let config = Some("CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_LAZY=y\n");
        let mode = |debug, boot, config, version| {
            let found: Preemption = preemption(debug, boot, config, version).unwrap();
            (found.mode, found.source)
        };
        let pair = |mode: &str, source: &str| (mode.to_owned(), source.to_owned());
        let version = Some(DYNAMIC);
        assert_eq!(
            mode(debug, boot, config, version),
            pair("full", "/sys/kernel/debug/sched/preempt")
        );
        assert_eq!(mode(None, boot, config, version), pair("voluntary", "boot line"));
        assert_eq!(mode(None, None, config, version), pair("lazy", "build configuration"));
        assert_eq!(mode(None, Some("quiet"), None, version), pair("dynamic", "uname -v"));
        assert_eq!(preemption(None, None, None, None), None);
    }

    #[test]
    fn uname_tells_what_it_can() {
        let mode = |version| preemption(None, None, None, Some(version)).unwrap().mode;
        assert_eq!(mode("#1 SMP PREEMPT_RT Fri"), "rt");
        assert_eq!(mode("#1 SMP PREEMPT Fri"), "full");
        assert_eq!(mode("#45-Ubuntu SMP Fri Aug 30"), "none or voluntary");
    }

    #[test]
    fn the_tick_is_in_the_build_configuration_of_this_release() {
        let files = [
            ("proc/sys/kernel/osrelease", "6.1.0-21-amd64"),
            ("boot/config-6.1.0-20-amd64", "CONFIG_HZ=100"),
            (
                "boot/config-6.1.0-21-amd64",
                "# CONFIG_HZ_100 is not set\\nCONFIG_HZ_250=y\\nCONFIG_HZ=250",
            ),
            ("sys/kernel/debug/sched/min_granularity_ns", "750000"),
            ("proc/sys/kernel/sched_autogroup_enabled", "1"),
            ("sys/kernel/sched_ext/root/ops", "scx_rustland"),
        ];
        let found = kernel(stored::unpack(files).path());
        assert_eq!((found.hz, found.scheduler_slice_ns), (Some(250), Some(750_000)));
        assert_eq!((found.autogroup, found.boot_line), (Some(true), None));
        assert_eq!(found.sched_ext.as_deref(), Some("scx_rustland"));
        assert_eq!(kernel(tempfile::tempdir().unwrap().path()), Kernel::default());
    }

    #[test]
    fn the_kernel_may_carry_its_configuration() {
        let root = stored::unpack([("proc/sys/kernel/osrelease", "6.18.1")]);
        let file = File::create(root.path().join("proc/config.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"CONFIG_HZ=1000\nCONFIG_PREEMPT_LAZY=y\n").unwrap();
        packed.finish().unwrap();
        let found = kernel(root.path());
        assert_eq!((found.hz, found.preemption.unwrap().mode.as_str()), (Some(1000), "lazy"));
        std::fs::write(root.path().join("proc/config.gz"), "not gzip").unwrap();
        assert_eq!(kernel(root.path()).hz, None);
    }

    #[test]
    fn mitigations_clock_and_huge_pages() {
        let root = stored::unpack([
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock "),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ]);
        let root = root.path();
        assert_eq!(kernel(root).mitigations["meltdown"], "Not affected");
        assert_eq!(clock_source(root).available, ["tsc", "kvm-clock"]);
        assert_eq!(huge_pages(root).enabled.as_deref(), Some("madvise"));
        assert_eq!(huge_pages(root).defrag, None);
    }
}
