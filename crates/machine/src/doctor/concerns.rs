//! Of what the doctor found, what a run is to warn of: what shapes the cases that it measures. It is the doctor's list,
//! so that the two can't differ.

use model::findings::{Finding, Level};

pub struct Measured<'a> {
    /// Mechanisms, by their names without options.
    pub mechanisms: &'a [&'a str],
    /// Whether workers are pinned.
    pub pinned: bool,
    /// Whether workers are, or may be, on two CPUs.
    pub two_cpus: bool,
}

/// What a check speaks of.
enum Concerns {
    All,
    Pinned,
    TwoCpus,
    Mechanisms(&'static [&'static str]),
}

/// The checks of what a machine is set to. The others say what it is, or are made around each round and mark it.
const SETTINGS: [(&str, Concerns); 12] = [
    ("calls", Concerns::All),
    ("governor", Concerns::All),
    ("boost", Concerns::All),
    ("cores", Concerns::Pinned),
    ("smt", Concerns::Pinned),
    ("idle", Concerns::TwoCpus),
    ("clock", Concerns::All),
    ("cpuset", Concerns::Pinned),
    ("quota", Concerns::All),
    ("pipes", Concerns::Mechanisms(&["pipe", "fifo", "splice", "vmsplice"])),
    ("queues", Concerns::Mechanisms(&["posix-queue", "sysv-queue"])),
    (
        "sockets",
        Concerns::Mechanisms(&["unix-stream", "unix-dgram", "unix-seqpacket", "tcp", "udp"]),
    ),
];

impl Measured<'_> {
    fn is_concerned(&self, finding: &Finding) -> bool {
        let concerns = SETTINGS.iter().find(|(check, _)| *check == finding.check);
        concerns.is_some_and(|(_, concerns)| match concerns {
            Concerns::All => true,
            Concerns::Pinned => self.pinned,
            Concerns::TwoCpus => self.two_cpus,
            Concerns::Mechanisms(names) => names.iter().any(|name| self.mechanisms.contains(name)),
        })
    }
}

/// What a run of `measured` is to warn of: a line for each serious finding, one for all that are minor, and one for
/// what others do where that can't be read.
pub fn warnings(findings: &[Finding], measured: &Measured) -> Vec<String> {
    let concerned = |level| {
        findings
            .iter()
            .filter(move |finding| finding.level == level && measured.is_concerned(finding))
    };
    let mut lines: Vec<String> = concerned(Level::Warning).map(serious).collect();
    let minor: Vec<String> = concerned(Level::Note).map(named).collect();
    if !minor.is_empty() {
        lines.push(format!(
            "settings of this machine shape the results: {}; `ipcmark doctor` says how, and what to do",
            minor.join(", ")
        ));
    }
    let open: Vec<String> =
        findings.iter().filter(|finding| finding.leaves_open()).map(named).collect();
    if !open.is_empty() {
        lines.push(format!(
            "whether others disturb this run can't be told by {}; `ipcmark doctor` says what would help",
            open.join(", ")
        ));
    }
    lines
}

/// `pipes (a fresh pipe holds 4 KiB)`.
fn named(finding: &Finding) -> String {
    format!("{} ({})", finding.check, finding.found)
}

fn serious(finding: &Finding) -> String {
    let command = finding.command.as_ref().map(|command| format!(" `{command}`"));
    format!(
        "{}: {}; {}{}",
        finding.check,
        finding.found,
        finding.advice,
        command.unwrap_or_default()
    )
}

/// The mechanisms that checks name, so that who knows mechanisms can compare.
pub fn named_mechanisms() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().flat_map(|(_, concerns)| match concerns {
        Concerns::Mechanisms(names) => names.iter().copied(),
        _ => [].iter().copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(check: &str, level: Level, found: &str) -> Finding {
        Finding {
            check: check.into(),
            level,
            found: found.into(),
            wanted: "w".into(),
            effect: "e".into(),
            advice: "widen it.".into(),
            command: Some("sysctl x".into()),
        }
    }

    #[test]
    fn a_run_warns_of_what_shapes_its_own_cases() {
        let findings = [
            finding("pipes", Level::Warning, "a fresh pipe holds 4 KiB"),
            finding("queues", Level::Note, "POSIX: 5 messages"),
            finding("governor", Level::Note, "powersave on CPUs 0-1"),
            finding("cores", Level::Warning, "of different kinds"),
            finding("isolation", Level::Note, "no CPU is isolated"),
            finding("load", Level::Unknown, "/proc/stat can't be read"),
            finding("thermal", Level::Unknown, "no counter"),
            finding("clock", Level::Fine, "tsc"),
        ];
        let of = |mechanisms: &[&str], pinned| {
            warnings(&findings, &Measured { mechanisms, pinned, two_cpus: false })
        };
        let pipe = of(&["pipe"], false);
        assert_eq!(pipe[0], "pipes: a fresh pipe holds 4 KiB; widen it. `sysctl x`");
        assert!(
            pipe[1].contains("shape the results: governor (powersave on CPUs 0-1);"),
            "{pipe:?}"
        );
        assert!(pipe[2].contains("can't be told by load (/proc/stat can't be read);"), "{pipe:?}");
        assert_eq!(pipe.len(), 3);
        let queue = of(&["posix-queue"], true);
        assert!(queue[0].starts_with("cores: of different kinds"), "{queue:?}");
        assert!(queue[1].contains("queues (POSIX: 5 messages), governor"), "{queue:?}");
        assert!(!queue.concat().contains("isolat") && !queue.concat().contains("pipes"));
    }

    #[test]
    fn settings_are_checks() {
        let host = crate::host::read(std::path::Path::new("/"));
        let found =
            super::super::examine(std::path::Path::new("/"), &host, &[], std::time::Duration::ZERO);
        for (check, _) in SETTINGS {
            assert!(found.iter().any(|finding| finding.check == check), "{check}");
        }
    }
}
