//! What else happened on a machine while it was measured on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bound::RoundBound;
use crate::energy::Energy;
use crate::findings::{CpuFrequency, Mark};
use crate::words::{counted, were};

/// What happened between two snapshots. A counter is `None` where it couldn't be read at either
/// end, went backwards (a CPU went off and on; 32-bit counters wrap), or is of used CPUs and the
/// snapshots are not of the same ones, or of none.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Noise {
    /// Interrupts on the used CPUs.
    pub interrupts: Option<u64>,
    /// Those of devices among them. `None` also in what was stored before it was counted.
    pub device_interrupts: Option<u64>,
    /// Softirqs on the used CPUs.
    pub softirqs: Option<u64>,
    /// Processes and threads created, on the whole machine, by anyone.
    pub forks: Option<u64>,
    /// Context switches, on the whole machine, those measured among them.
    pub context_switches: Option<u64>,
    /// Steal time of the used CPUs, in ticks of USER_HZ (10 ms).
    pub steal_ticks: Option<u64>,
}

/// What a spin noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Gaps {
    /// Length of the spin, in ns.
    pub spun_ns: u64,
    /// Gaps longer than 5 µs.
    pub count: u64,
    /// Their sum, in ns.
    pub total_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
}

/// What a round noticed of the machine around it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RoundNoise {
    /// The kernel's counters over the round, on the CPUs used.
    pub counters: Noise,
    /// A spin before the round.
    pub before: Gaps,
    /// A spin after it.
    pub after: Gaps,
    /// What the doctor's checks noticed. Empty in what was stored before they ran.
    pub marks: Vec<Mark>,
    /// The checks of what others did that couldn't be made: what they would have seen is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The clock rates of the CPUs used, where they can be read.
    pub frequencies: Vec<CpuFrequency>,
    /// What it measured right before its first launch, to hold them against.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<RoundBound>,
    /// What the packages used while nothing was asked of them, right before its first launch; None where that
    /// wasn't asked, or can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Energy>,
    /// The session of the run in which the round was measured, from 1.
    pub session: u64,
    /// Whether others forked during at least half of its launches; unknown for set-ups, which may
    /// fork themselves.
    pub forks: bool,
    /// Whether it launched those cases alone that screening left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contenders: bool,
}

/// Whether others disturbed a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// All that would tell could be read, and nothing was noticed.
    None,
    /// By the names of the checks that noticed it, commas between.
    By(String),
    /// Nothing was noticed, but these checks, commas between, couldn't be made.
    Unknown(String),
}

impl Disturbance {
    /// Whether it is known that nobody disturbed the round.
    pub fn is_none(&self) -> bool {
        *self == Disturbance::None
    }

    /// Whether nobody knows.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Disturbance::Unknown(_))
    }
}

impl RoundNoise {
    /// Whether others disturbed the round, or whether that is unknown.
    ///
    /// The one place that says which rounds are marked. A mark is of what others did: a check of the
    /// doctor that found something amiss (steal, others' CPU time, device interrupts, a quota, clock rates
    /// that somebody changed), or forks that were nobody's of ours. No measured value has a part in it.
    pub fn disturbance(&self) -> Disturbance {
        match (self.causes().as_slice(), self.unknown.as_slice()) {
            ([], []) => Disturbance::None,
            ([], unknown) => Disturbance::Unknown(unknown.join(", ")),
            (why, _) => Disturbance::By(why.join(", ")),
        }
    }

    /// The names of what noticed others.
    pub fn causes(&self) -> Vec<&str> {
        let checks = self.marks.iter().map(|mark| &*mark.check);
        checks.chain(self.forks.then_some("forks")).collect()
    }
}

/// One sentence on the rounds that were disturbed, most frequent cause first; `None` where none was.
pub fn count_disturbed<'a>(rounds: impl IntoIterator<Item = &'a RoundNoise>) -> Option<String> {
    let (mut all, mut marked) = (0, 0);
    let mut causes: BTreeMap<&str, (u64, Option<&Mark>)> = BTreeMap::new();
    for round in rounds {
        all += 1;
        marked += u64::from(!round.causes().is_empty());
        for cause in round.causes() {
            let (count, worst) = causes.entry(cause).or_default();
            *count += 1;
            let mark = round.marks.iter().find(|mark| mark.check == cause);
            if mark.map(|mark| mark.level) > worst.map(|mark| mark.level) {
                *worst = mark;
            }
        }
    }
    let mut causes: Vec<(&str, (u64, Option<&Mark>))> = causes.into_iter().collect();
    causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let cause = |(check, (count, worst)): (&str, (u64, Option<&Mark>))| {
        let example = worst.map_or(String::new(), |mark| format!(" (for example: {})", mark.found));
        format!("{check} in {count}{example}")
    };
    let causes: Vec<String> = causes.into_iter().map(cause).collect();
    (marked > 0).then(|| {
        format!(
            "{marked} of {} {} disturbed: {}; `ipcmark doctor` says what to do",
            counted(all, "round"),
            were(marked),
            causes.join(", ")
        )
    })
}

/// The counters of one family of addresses since the namespace was made; or, as a difference, what
/// happened between two snapshots. `None` where a counter isn't there or couldn't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Traffic {
    /// Datagrams sent (OutDatagrams).
    pub sent: Option<u64>,
    /// Datagrams that somebody received (InDatagrams): what waits in a queue isn't in it yet.
    pub received: Option<u64>,
    /// Datagrams for a port that nobody had (NoPorts).
    pub no_port: Option<u64>,
    /// Datagrams that were dropped on arrival, for whatever reason (InErrors): the next two are in it.
    pub receive_errors: Option<u64>,
    /// Those whose socket's receive queue was full (RcvbufErrors).
    pub receive_queue_errors: Option<u64>,
    /// Those whose checksum was wrong (InCsumErrors).
    pub checksum_errors: Option<u64>,
    /// Datagrams that found no room to be sent (SndbufErrors).
    pub send_queue_errors: Option<u64>,
    /// Packets into which the kernel cut larger ones (FragCreates), of any protocol.
    pub pieces_sent: Option<u64>,
    /// Packets that couldn't be put together again (ReasmFails), of any protocol.
    pub reassembly_failures: Option<u64>,
}

impl Traffic {
    /// What happened since an earlier snapshot.
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        self.with(earlier, |now, then| now.checked_sub(then))
    }

    /// Both together.
    pub fn plus(&self, other: &Traffic) -> Traffic {
        self.with(other, |one, other| one.checked_add(other))
    }

    fn with(&self, other: &Traffic, of: impl Fn(u64, u64) -> Option<u64>) -> Traffic {
        let of = |one: Option<u64>, other: Option<u64>| of(one?, other?);
        Traffic {
            sent: of(self.sent, other.sent),
            received: of(self.received, other.received),
            no_port: of(self.no_port, other.no_port),
            receive_errors: of(self.receive_errors, other.receive_errors),
            receive_queue_errors: of(self.receive_queue_errors, other.receive_queue_errors),
            checksum_errors: of(self.checksum_errors, other.checksum_errors),
            send_queue_errors: of(self.send_queue_errors, other.send_queue_errors),
            pieces_sent: of(self.pieces_sent, other.pieces_sent),
            reassembly_failures: of(self.reassembly_failures, other.reassembly_failures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Level;

    fn mark(check: &str, level: Level, found: &str) -> Mark {
        Mark { check: check.into(), level, found: found.into() }
    }

    #[test]
    fn marked_rounds_are_counted_once_and_causes_by_frequency() {
        let load = mark("load", Level::Note, "others used 0.20 CPUs");
        let more = mark("load", Level::Warning, "others used 1.20 CPUs");
        let steal = mark("steal", Level::Note, "20 ms of 400 ms");
        let of = |marks| RoundNoise { marks, ..RoundNoise::default() };
        // Forks are no check of the doctor, and mark a round as well.
        let forks = RoundNoise { forks: true, ..RoundNoise::default() };
        let rounds = [of(vec![]), of(vec![steal, load.clone()]), of(vec![more]), of(vec![load])];
        let sentence = count_disturbed(rounds.iter().chain([&forks])).unwrap();
        assert_eq!(
            sentence,
            "4 of 5 rounds were disturbed: load in 3 (for example: others used 1.20 CPUs), \
             forks in 1, steal in 1 (for example: 20 ms of 400 ms); `ipcmark doctor` says what to do"
        );
        let counted = rounds.iter().filter(|round| !round.disturbance().is_none()).count();
        assert_eq!(counted, 3, "as everywhere else");
        let one = count_disturbed(&rounds[1..2]).unwrap();
        assert!(one.starts_with("1 of 1 round was disturbed: "), "{one}");
        assert_eq!(count_disturbed([&of(vec![]), &of(vec![])]), None);
        assert_eq!(count_disturbed([]), None);
    }

    #[test]
    fn a_round_of_which_a_check_is_unknown_is_not_undisturbed() {
        let unknown =
            RoundNoise { unknown: vec!["load".into(), "steal".into()], ..RoundNoise::default() };
        assert_eq!(RoundNoise::default().disturbance(), Disturbance::None);
        assert_eq!(unknown.disturbance(), Disturbance::Unknown("load, steal".into()));
        let forks = RoundNoise { forks: true, ..unknown };
        assert_eq!(forks.disturbance(), Disturbance::By("forks".into()));
    }
}
