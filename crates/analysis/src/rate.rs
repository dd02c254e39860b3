//! How an open loop went: what was asked, what was served, and how late messages were begun.

use serde::Serialize;

use model::load::{Load, Server, Service};
use model::workload::Arrivals;
use store::{StoredCase, StoredLaunch};

/// A mechanism that serves a smaller share of what is due falls behind for good: what is due waits in
/// a queue that grows, and its response times tell how long the launch was.
const SERVED: f64 = 0.99;
/// A sender that begins a smaller share on time offers another load than the one that was asked.
const ON_TIME: f64 = 0.99;

/// The schedule of a case, and how it was kept: medians over launches, null where nothing was
/// measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSeen {
    /// What was asked of it.
    #[serde(skip)]
    pub load: Load,
    /// Messages due per second, in the mean.
    pub asked_per_sec: u64,
    /// Messages that might be under way at once on one connection.
    pub depth: u32,
    /// Connections to the one server, each of a client of its own.
    pub connections: u32,
    /// How that server finds the next request; null where it has one connection and needs no choice.
    pub server: Option<Server>,
    /// The most that were under way at once on one connection.
    pub deepest: Option<f64>,
    /// How they were spread over time.
    pub arrivals: Arrivals,
    /// Bytes of an answer; None where it has as many as its request, or none.
    pub response_bytes: Option<u64>,
    /// What the server worked over each request before it answered.
    pub service: Service,
    /// What that took by the server's clock, in ns: the mean of a launch, and of these the median.
    pub service_took_ns: Option<f64>,
    /// Messages answered per second, from when the first was due to when the last was begun: all others
    /// were answered by then.
    pub served_per_sec: Option<f64>,
    /// The same over what was due per second in the same launch.
    pub served_share: Option<f64>,
    /// Share of the messages that were begun more than 1 µs after they were due.
    pub late_share: Option<f64>,
    /// Share of the messages that the sender began on time, or as soon as it might: a median over launches.
    pub on_time_share: Option<f64>,
    /// How much later than that is still on time, in ns.
    pub tolerance_ns: Option<f64>,
    /// Median of how late messages were begun, in ns.
    pub lateness_median_ns: Option<f64>,
    /// Largest of it over all launches, in ns.
    pub lateness_max_ns: Option<f64>,
    /// Whether it could not serve the rate: then it is no candidate for anything.
    pub overloaded: bool,
    /// Whether it was not offered the rate: the sender itself was late, with more than one message in a
    /// hundred.
    pub void: bool,
}

impl RateSeen {
    /// What is known before any launch; None of other workloads.
    pub(super) fn asked(case: &StoredCase) -> Option<RateSeen> {
        case.case.load.map(RateSeen::of)
    }

    /// What is known of `load` before any launch.
    pub fn of(load: Load) -> RateSeen {
        RateSeen {
            load,
            asked_per_sec: load.per_second,
            depth: load.depth,
            connections: load.connections,
            server: load.choice(),
            deepest: None,
            arrivals: Arrivals::default(),
            response_bytes: load.response,
            service: load.service,
            service_took_ns: None,
            served_per_sec: None,
            served_share: None,
            late_share: None,
            on_time_share: None,
            tolerance_ns: None,
            lateness_median_ns: None,
            lateness_max_ns: None,
            overloaded: false,
            void: false,
        }
    }

    /// The same with what `launches` came to.
    pub(super) fn with(self, launches: &[&StoredLaunch]) -> RateSeen {
        let reports = || launches.iter().map(|it| &it.record.initiator);
        let kept = || reports().filter_map(|it| Some((it.samples, it.punctuality?)));
        let worked = launches.iter().filter_map(|it| it.record.responder.worked);
        let served_share =
            stats::median_of(kept().map(|it| it.1.served_per_sec / it.1.due_per_sec));
        let short = served_share.is_some_and(|it| it < SERVED);
        let share = |all: u64, part: u64| part as f64 / all.max(1) as f64;
        let on_time_share =
            stats::median_of(kept().map(|(all, it)| 1.0 - share(all, it.sender_late)));
        let void = on_time_share.is_some_and(|it| it < ON_TIME);
        RateSeen {
            served_per_sec: stats::median_of(kept().map(|it| it.1.served_per_sec)),
            served_share,
            service_took_ns: stats::median_of(worked.map(|it| it.took_ns)),
            late_share: stats::median_of(kept().map(|(all, it)| share(all, it.late))),
            on_time_share,
            tolerance_ns: stats::median_of(kept().map(|it| it.1.tolerance_ns)),
            deepest: stats::median_of(kept().map(|it| f64::from(it.1.deepest))),
            lateness_median_ns: stats::median_of(kept().map(|it| it.1.median_ns)),
            lateness_max_ns: kept().map(|it| it.1.max_ns).reduce(f64::max),
            overloaded: short && !void,
            void,
            ..self
        }
    }

    /// Whether its response times are those of the rate that was asked: it was offered, and served.
    pub fn is_kept(&self) -> bool {
        !self.overloaded && !self.void
    }

    /// Why they are not: `overloaded at 50000/s`; None where they are.
    pub fn shortfall(&self) -> Option<String> {
        let what = if self.void { "void, since the sender was late," } else { "overloaded" };
        (!self.is_kept()).then(|| format!("{what} at {}/s", self.asked_per_sec))
    }
}
