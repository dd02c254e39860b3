//! Quantities: every number that is told of a case beside what was asked of it, a row each. Comma-separated values and
//! the tables with a row per case are made of these rows: a further quantity is one more of them.

use std::borrow::Cow;

use super::{
    CaseResult, ENERGY, Estimate, FIRST_MESSAGE, MedianInterval, OverClients, OverLaunches,
    PERCENTILES, Standing,
};
use model::metric::{Better, Unit};
use stats::Share;

/// A number that a case may have.
pub struct Quantity {
    /// Its name in exports.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The tables that show it: its head there, and how soon a narrow screen leaves it out (0: never).
    pub columns: &'static [(Topic, &'static str, u8)],
    /// What a case has of it.
    pub of: fn(&CaseResult) -> Option<Found>,
}

/// What a table with a row per case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// How the schedule of an open loop was kept.
    Schedule,
    /// What each client of a server got.
    Clients,
    /// Losses and repairs on the way.
    Losses,
    /// What became of flipped bits.
    Flips,
    /// The energy of an operation.
    Energy,
    /// What became of datagrams.
    Datagrams,
}

impl Topic {
    /// Whether it has to do with a case.
    pub fn concerns(self, case: &CaseResult) -> bool {
        let flips = case.delivery.as_ref().map(|seen| seen.counts.contains_key("flipped_bits"));
        match self {
            Topic::Schedule => case.rate.is_some(),
            Topic::Clients => case.clients.is_some(),
            Topic::Losses => flips == Some(false),
            Topic::Flips => flips == Some(true),
            Topic::Energy => case.secondary(ENERGY).is_some(),
            Topic::Datagrams => case.datagrams.is_some(),
        }
    }

    /// The quantities that it shows, in their order: with the head of each, and how soon it is left out.
    pub fn columns(self) -> impl Iterator<Item = (&'static Quantity, &'static str, u8)> {
        QUANTITIES.iter().flat_map(move |quantity| {
            let here = quantity.columns.iter().filter(move |(topic, ..)| *topic == self);
            here.map(move |(_, head, left_out)| (quantity, *head, *left_out))
        })
    }
}

/// A number, with its interval where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// The number, in the unit of its quantity; None where only its interval is known.
    pub value: Option<f64>,
    /// The ends of its interval.
    pub ends: [Option<f64>; 2],
    /// The coverage that the interval really has.
    pub coverage: Option<f64>,
    /// Smallest launch, quartiles, largest launch.
    pub spread: Option<[f64; 4]>,
}

impl From<f64> for Found {
    fn from(value: f64) -> Found {
        Found { value: Some(value), ..Found::default() }
    }
}

impl Found {
    fn within(value: Option<f64>, ends: [Option<f64>; 2]) -> Option<Found> {
        let is_known = value.is_some() || ends.iter().any(Option::is_some);
        is_known.then(|| Found { value, ends, ..Found::default() })
    }

    fn over(value: f64, interval: MedianInterval) -> Found {
        let ends = [interval.low, interval.high];
        Found { value: Some(value), ends, coverage: interval.coverage, spread: None }
    }
}

impl From<&Estimate> for Found {
    fn from(of: &Estimate) -> Found {
        let spread = Some([of.min, of.q1, of.q3, of.max]);
        Found { spread, ..Found::over(of.median, of.interval) }
    }
}

impl From<OverLaunches> for Found {
    fn from(of: OverLaunches) -> Found {
        Found::over(of.median, of.interval)
    }
}

impl From<Share> for Found {
    fn from(of: Share) -> Found {
        Found { value: Some(of.share), ends: [Some(of.low), Some(of.high)], ..Found::default() }
    }
}

use Topic::{Clients, Datagrams, Energy, Flips, Losses, Schedule};
use Unit::{Bytes, Count, Flag, Joules, Nanoseconds, Number, PerSecond, Ratio};

/// One row.
const fn row(name: &'static str, unit: Unit, of: fn(&CaseResult) -> Option<Found>) -> Quantity {
    Quantity { name, unit, columns: &[], of }
}

impl Quantity {
    const fn under(self, columns: &'static [(Topic, &'static str, u8)]) -> Quantity {
        Quantity { columns, ..self }
    }
}

fn number(value: Option<f64>) -> Option<Found> {
    value.map(Found::from)
}

fn flag(is_so: bool) -> Option<Found> {
    number(Some(f64::from(u8::from(is_so))))
}

fn whole(count: Option<u64>) -> Option<Found> {
    number(count.map(|count| count as f64))
}

/// What both ends of a case counted under a name, where that has to do with the topic: 0 where they counted others.
fn counted(case: &CaseResult, topic: Topic, name: &str) -> Option<f64> {
    let counts = &case.delivery.as_ref().filter(|_| topic.concerns(case))?.counts;
    Some(counts.get(name).copied().unwrap_or(0) as f64)
}

fn p99_of_clients(case: &CaseResult) -> Option<OverClients> {
    case.clients?.p99_ns
}

/// Every quantity of which a case has at most one number, in the order of columns and rows.
pub static QUANTITIES: &[Quantity] = &[
    row("largest", Nanoseconds, |case| number(case.largest_ns)),
    row("cpu_time", Nanoseconds, |case| {
        let cpu = case.cpu_ns_per_operation?;
        Found::within(Some(cpu.total), [cpu.interval.low, cpu.interval.high])
    }),
    row("cpu_time_user", Nanoseconds, |case| number(Some(case.cpu_ns_per_operation?.user))),
    row("cpu_time_system", Nanoseconds, |case| number(Some(case.cpu_ns_per_operation?.system))),
    row("kernel_share", Unit::Share, |case| {
        let cpu = case.cpu_ns_per_operation?;
        number((cpu.total > 0.0).then(|| cpu.system / cpu.total))
    }),
    row(FIRST_MESSAGE, Nanoseconds, |case| Some((&case.secondary(FIRST_MESSAGE)?.value).into())),
    row(ENERGY, Joules, |case| Some((&case.secondary(ENERGY)?.value).into()))
        .under(&[(Energy, "energy", 0)]),
    row("clock_share", Unit::Share, |case| number(case.clock_share)),
    row("serial_correlation", Number, |case| number(case.serial_correlation)),
    row("screened_out", Flag, |case| flag(case.screened_out)),
    row("precision_half_width", Ratio, |case| number(case.precision_reached?.half_width)),
    row("precision_is_reached", Flag, |case| flag(case.precision_reached?.reached)),
    row("undisturbed", Number, |case| {
        let of = case.stratified?;
        Found::within(of.median, [of.interval.low, of.interval.high])
    }),
    row("over_sessions", Number, |case| {
        let of = case.sessions.as_ref()?;
        let ends = [Some(of.low), Some(of.high)];
        Some(Found { ends, coverage: Some(of.coverage), ..of.median.into() })
    }),
    row("earlier_runs", Count, |case| whole(Some(case.earlier.as_ref()?.runs))),
    row("earlier_low", Number, |case| number(Some(case.earlier.as_ref()?.low))),
    row("earlier_high", Number, |case| number(Some(case.earlier.as_ref()?.high))),
    row("same_cpu_share", Unit::Share, |case| number(Some(case.observed_placement?.same_cpu))),
    row("launches_with_moves", Count, |case| {
        whole(Some(case.observed_placement?.launches_with_moves))
    }),
    // How an open loop kept its schedule.
    row("asked_per_sec", PerSecond, |case| number(Some(case.rate?.load.per_second as f64)))
        .under(&[(Schedule, "asked", 0)]),
    row("served_per_sec", PerSecond, |case| number(case.rate?.served_per_sec))
        .under(&[(Schedule, "served", 0), (Clients, "served", 0)]),
    row("served_share", Unit::Share, |case| number(case.rate?.served_share))
        .under(&[(Schedule, "share", 1)]),
    row("on_time_share", Unit::Share, |case| number(case.rate?.on_time_share))
        .under(&[(Schedule, "on time", 0)]),
    row("held_share", Unit::Share, |case| number(case.rate?.held_share))
        .under(&[(Schedule, "held", 1)]),
    row("late_share", Unit::Share, |case| number(case.rate?.late_share))
        .under(&[(Schedule, "late", 1)]),
    row("lateness", Nanoseconds, |case| number(case.rate?.lateness_median_ns)).under(&[(
        Schedule,
        "begun, median",
        2,
    )]),
    row("lateness_max", Nanoseconds, |case| number(case.rate?.lateness_max_ns))
        .under(&[(Schedule, "largest", 1)]),
    row("deepest", Count, |case| number(case.rate?.deepest)),
    row("generators", Count, |case| number(case.rate?.generators.map(f64::from))),
    row("generator_idle_share", Unit::Share, |case| number(case.rate?.generator_idle_share)),
    row("service_took", Nanoseconds, |case| number(case.rate?.service_took_ns)),
    row("server_cpus", Number, |case| number(case.rate?.server_cpus)),
    row("tolerance", Nanoseconds, |case| number(case.rate?.tolerance_ns)),
    // What the clients of a server got.
    row("clients", Count, |case| whole(Some(case.clients?.clients))),
    row("clients_worst_share", Unit::Share, |case| Some(case.clients?.worst_share.into()))
        .under(&[(Clients, "worst share", 0)]),
    row("clients_jain", Number, |case| Some(case.clients?.jain.into()))
        .under(&[(Clients, "Jain", 0)]),
    row("clients_p50", Nanoseconds, |case| number(Some(case.clients?.p50_ns.median))).under(&[(
        Clients,
        "p50, median",
        1,
    )]),
    row("clients_p50_largest", Nanoseconds, |case| number(Some(case.clients?.p50_ns.largest)))
        .under(&[(Clients, "worst", 1)]),
    row("clients_p99", Nanoseconds, |case| number(Some(p99_of_clients(case)?.median))).under(&[(
        Clients,
        "p99, median",
        2,
    )]),
    row("clients_p99_largest", Nanoseconds, |case| number(Some(p99_of_clients(case)?.largest)))
        .under(&[(Clients, "worst", 2)]),
    // What the ends of a mechanism counted.
    row("due_messages", Count, |case| {
        whole(case.delivery.as_ref()?.counts.get("due_messages").copied())
    })
    .under(&[(Losses, "messages due", 1), (Flips, "messages", 0)]),
    row("residual_loss", Unit::Share, |case| Some(case.delivery.as_ref()?.residual_loss?.into()))
        .under(&[(Losses, "lost for good [95 %]", 0)]),
    row("recovered_share", Unit::Share, |case| {
        let [part, all] =
            ["recovered_messages", "due_messages"].map(|name| counted(case, Losses, name));
        number(Some(part? / all?.max(1.0)))
    })
    .under(&[(Losses, "rebuilt", 1)]),
    row("resent_datagrams_per_message", Number, |case| {
        number(case.delivery.as_ref()?.resent_datagrams_per_message)
    })
    .under(&[(Losses, "resent / message", 0)]),
    row("flipped_bits", Count, |case| number(counted(case, Flips, "flipped_bits"))).under(&[(
        Flips,
        "bits flipped",
        3,
    )]),
    row("intact_messages", Count, |case| number(counted(case, Flips, "intact_messages")))
        .under(&[(Flips, "intact", 0)]),
    row("corrected_messages", Count, |case| number(counted(case, Flips, "corrected_messages")))
        .under(&[(Flips, "corrected", 0)]),
    row("detected_by_code", Count, |case| number(counted(case, Flips, "detected_by_code")))
        .under(&[(Flips, "detected by the code", 0)]),
    row("detected_by_checksum", Count, |case| number(counted(case, Flips, "detected_by_checksum")))
        .under(&[(Flips, "by CRC-32C only", 0)]),
    row("silently_wrong_messages", Count, |case| {
        number(counted(case, Flips, "silently_wrong_messages"))
    })
    .under(&[(Flips, "silently wrong", 0)]),
    row("wire_bytes_per_payload_byte", Ratio, |case| {
        let counted = case.delivery.as_ref().and_then(|seen| seen.wire_bytes_per_payload_byte);
        let by_size = || case.datagrams.as_ref()?.wire_bytes_per_payload_byte;
        number(counted.or_else(by_size))
    })
    .under(&[
        (Losses, "wire / payload", 0),
        (Flips, "wire / payload", 2),
        (Datagrams, "wire / payload", 0),
    ]),
    row("lost_datagrams", Count, |case| number(counted(case, Losses, "lost_datagrams")))
        .under(&[(Losses, "datagrams lost", 3)]),
    // What the kernel and the receivers know of datagrams.
    row("datagram_launches", Count, |case| {
        whole(Some(case.datagrams.as_ref()?.launches.len() as u64))
    })
    .under(&[(Datagrams, "launches", 0)]),
    row("datagram_launches_failed", Count, |case| {
        whole(Some(case.datagrams.as_ref()?.launches_failed()))
    })
    .under(&[(Datagrams, "failed", 0)]),
    row("queue_overflows", Count, |case| whole(case.datagrams.as_ref()?.queue_overflows))
        .under(&[(Datagrams, "queue full", 0)]),
    row("fragments", Count, |case| whole(Some(case.datagrams.as_ref()?.fragments?.received)))
        .under(&[(Datagrams, "fragments", 1)]),
    row("fragments_lost", Count, |case| whole(Some(case.datagrams.as_ref()?.fragments?.lost)))
        .under(&[(Datagrams, "lost", 0)]),
    row("fragments_reordered", Count, |case| {
        whole(Some(case.datagrams.as_ref()?.fragments?.reordered))
    })
    .under(&[(Datagrams, "late", 1)]),
    row("fragments_duplicated", Count, |case| {
        whole(Some(case.datagrams.as_ref()?.fragments?.duplicated))
    })
    .under(&[(Datagrams, "twice", 1)]),
    row("udp_sent", Count, |case| whole(case.datagrams.as_ref()?.here?.sent)).under(&[(
        Datagrams,
        "kernel: sent",
        2,
    )]),
    row("udp_received", Count, |case| whole(case.datagrams.as_ref()?.here?.received)).under(&[(
        Datagrams,
        "kernel: received",
        2,
    )]),
    row("udp_queue_full", Count, |case| whole(case.datagrams.as_ref()?.here?.receive_queue_errors))
        .under(&[(Datagrams, "kernel: queues full", 2)]),
    row("udp_checksum_errors", Count, |case| whole(case.datagrams.as_ref()?.here?.checksum_errors))
        .under(&[(Datagrams, "kernel: checksums", 2)]),
    row("udp_no_send_space", Count, |case| whole(case.datagrams.as_ref()?.here?.send_queue_errors))
        .under(&[(Datagrams, "kernel: send space", 2)]),
    row("peer_udp_sent", Count, |case| whole(case.datagrams.as_ref()?.peer?.sent)).under(&[(
        Datagrams,
        "peer: sent",
        3,
    )]),
    row("peer_udp_received", Count, |case| whole(case.datagrams.as_ref()?.peer?.received))
        .under(&[(Datagrams, "peer: received", 3)]),
    row("peer_udp_queue_full", Count, |case| {
        whole(case.datagrams.as_ref()?.peer?.receive_queue_errors)
    })
    .under(&[(Datagrams, "peer: queues full", 3)]),
    row("peer_udp_checksum_errors", Count, |case| {
        whole(case.datagrams.as_ref()?.peer?.checksum_errors)
    })
    .under(&[(Datagrams, "peer: checksums", 3)]),
    row("peer_udp_no_send_space", Count, |case| {
        whole(case.datagrams.as_ref()?.peer?.send_queue_errors)
    })
    .under(&[(Datagrams, "peer: send space", 3)]),
    // What happened beside, in a launch.
    row("involuntary_switches", Count, |case| number(case.noise.as_ref()?.involuntary_switches)),
    row("voluntary_switches", Count, |case| number(case.noise.as_ref()?.voluntary_switches)),
    row("threads", Count, |case| number(case.noise.as_ref()?.threads)),
    row("page_faults", Count, |case| number(case.noise.as_ref()?.page_faults)),
    row("interrupts", Count, |case| number(case.noise.as_ref()?.interrupts)),
    row("launches_with_forks", Count, |case| whole(case.noise.as_ref()?.launches_with_forks)),
    row("lost_messages", Count, |case| whole(Some(case.noise.as_ref()?.lost_messages))),
];

/// A number of a case, under its name.
pub struct Told {
    /// Its name in exports.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better, where one is.
    pub better: Option<Better>,
    /// The number; None of the metric of a case that has no value.
    pub found: Option<Found>,
    /// Of what is held against a bound, that bound's kind.
    pub kind: Option<&'static str>,
}

/// The time of an operation over that of the group's reference.
pub const OVER_REFERENCE: &str = "time_over_reference";

/// All that is told of a case: its metric first, also where there is no value; `standing` is its place in its group.
pub fn all(case: &CaseResult, standing: Option<&Standing>) -> Vec<Told> {
    let metric = &case.metric;
    let value = case.value.as_ref();
    let told = |name: Cow<'static, str>, unit, found| Told {
        name,
        unit,
        better: None,
        found: Some(found),
        kind: None,
    };
    let mut all = vec![Told {
        name: metric.name.clone(),
        unit: metric.unit,
        better: Some(metric.better),
        found: value.map(Found::from),
        kind: None,
    }];
    for (name, _) in PERCENTILES {
        let over = value.and_then(|value| value.percentile(name));
        let Some(over) = over else { continue };
        let name = format!("{}_{name}", metric.name);
        let found = Found { ends: [Some(over.low), Some(over.high)], ..over.value.into() };
        all.push(told(name.clone().into(), metric.unit, found));
        all.push(told(format!("{name}_later").into(), Unit::Share, over.later_share.into()));
    }
    for part in &case.secondary {
        let found = Found::from(&part.value);
        let better = Some(part.better);
        all.push(Told { better, ..told(part.name.clone().into(), part.unit, found) });
    }
    if let Some(bound) = &case.bound {
        let ends = [bound.interval.low, bound.interval.high];
        let value = Found { ends, ..bound.value.into() };
        let over = Found::within(bound.ratio, [bound.ratio_low, bound.ratio_high]);
        let kind = Some(bound.kind.name());
        all.push(Told { kind, ..told("bound".into(), metric.unit, value) });
        all.extend(over.map(|over| Told { kind, ..told("time_over_bound".into(), Ratio, over) }));
    }
    if let Some(standing) = standing {
        let over = Found::within(standing.ratio, [standing.low, standing.high]);
        all.extend(over.map(|over| told(OVER_REFERENCE.into(), Ratio, over)));
        let ends = [standing.slower_than_best_at_least, standing.slower_than_best_at_most];
        let slower = Found::within(standing.slower_than_best, ends);
        all.extend(slower.map(|slower| told("slower_than_best".into(), Unit::Share, slower)));
    }
    // Secondary quantities are told above, with which way is better.
    let others = QUANTITIES.iter().filter(|quantity| case.secondary(quantity.name).is_none());
    all.extend(others.filter_map(|quantity| {
        Some(told(quantity.name.into(), quantity.unit, (quantity.of)(case)?))
    }));
    let counts = case.delivery.iter().flat_map(|seen| &seen.counts);
    let is_a_row = |name: &str| QUANTITIES.iter().any(|quantity| quantity.name == name);
    let others = counts.filter(|(name, _)| !is_a_row(name));
    all.extend(
        others.map(|(name, count)| told(name.clone().into(), Count, (*count as f64).into())),
    );
    let settings = case.effective_settings.iter().map(|(name, value)| {
        let unit = match name.rsplit_once('_') {
            Some((_, "bytes")) => Bytes,
            Some((_, "ns")) => Nanoseconds,
            _ => Count,
        };
        told(format!("setting_{name}").into(), unit, (*value as f64).into())
    });
    all.extend(settings);
    let derived = case.derived.iter().filter_map(|(name, derived)| {
        Some(told(format!("derived_{name}").into(), Number, derived.value?.into()))
    });
    all.extend(derived);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case;

    #[test]
    fn no_two_rows_have_one_name_and_none_that_of_a_family() {
        for (at, quantity) in QUANTITIES.iter().enumerate() {
            let name = quantity.name;
            assert!(!QUANTITIES[..at].iter().any(|other| other.name == name), "{name} twice");
            assert!(!name.starts_with("setting_") && !name.starts_with("derived_"), "{name}");
            let document = include_str!("../../../docs/FORMAT.md");
            assert!(document.contains(&format!("`{name}`")), "docs/FORMAT.md doesn't name {name}");
        }
    }

    #[test]
    fn a_case_tells_its_metric_first_and_each_number_once() {
        let mut made = case("pipe", "same-cpu", None);
        made.largest_ns = Some(9_000.0);
        made.effective_settings.insert("pipe_capacity_bytes".into(), 65_536);
        let told = all(&made, None);
        assert_eq!(told[0].name, made.metric.name);
        let named = |name: &str| told.iter().filter(|told| told.name == name).count();
        assert!(told.iter().all(|told| named(&told.name) == 1));
        assert_eq!([named("largest"), named("setting_pipe_capacity_bytes")], [1, 1]);
    }
}
