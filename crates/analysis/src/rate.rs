//! How an open loop went: what was asked, what was served, and how late messages were begun.

use schemars::JsonSchema;
use serde::Serialize;

use model::capacity::{BoundedLaunch, Standing, majority};
use model::launch::Punctuality;
use model::load::Load;
use model::workload::Arrivals;
use store::{StoredCase, StoredLaunch};

/// The schedule of a case, and how it was kept: medians over launches, null where nothing was
/// measured.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RateSeen {
    /// What was asked.
    #[serde(skip)]
    pub load: Load,
    /// The most that were under way at once on one connection.
    pub deepest: Option<f64>,
    /// How many generators sent them; of several each has a CPU of its own.
    pub generators: Option<u32>,
    /// How they were spread over time.
    pub arrivals: Arrivals,
    /// What the server's work over each request took by the server's clock, in ns: the mean of a launch, and of these the median.
    pub service_took_ns: Option<f64>,
    /// CPU time of the server over the time in which it served: 1 is a whole CPU.
    pub server_cpus: Option<f64>,
    /// Messages answered per second, from when the first was due to when the last was begun: all others
    /// were answered by then.
    pub served_per_sec: Option<f64>,
    /// The same over what was due per second in the same launch.
    pub served_share: Option<f64>,
    /// Share of the messages that were begun more than 1 µs after they were due.
    pub late_share: Option<f64>,
    /// Share of the messages that the sender began on time, or as soon as it might: a median over launches.
    pub on_time_share: Option<f64>,
    /// Share of the messages of several connections that waited for their generator, which was in other calls: a
    /// median over launches.
    pub held_share: Option<f64>,
    /// Share of the time in which the busiest generator of several connections had nothing to do: a median over
    /// launches.
    pub generator_idle_share: Option<f64>,
    /// How much later than that is still on time, in ns.
    pub tolerance_ns: Option<f64>,
    /// Median of how late messages were begun, in ns.
    pub lateness_median_ns: Option<f64>,
    /// Largest of it over all launches, in ns.
    pub lateness_max_ns: Option<f64>,
    /// Whether it could not serve the rate: then it is no candidate for anything.
    pub overloaded: bool,
    /// Whether it was not offered the rate: the sender itself was late, with more than one message in a
    /// hundred, or its calls took all of its time; and most launches did not keep the bound, where one was asked.
    pub void: bool,
}

impl RateSeen {
    /// What is known before any launch; None of other workloads.
    pub(super) fn asked(case: &StoredCase) -> Option<RateSeen> {
        case.case.load.filter(Load::has_rate).map(RateSeen::of)
    }

    /// What is known of `load` before any launch.
    pub fn of(load: Load) -> RateSeen {
        RateSeen {
            load,
            deepest: None,
            generators: None,
            arrivals: Arrivals::default(),
            service_took_ns: None,
            server_cpus: None,
            served_per_sec: None,
            served_share: None,
            late_share: None,
            on_time_share: None,
            held_share: None,
            generator_idle_share: None,
            tolerance_ns: None,
            lateness_median_ns: None,
            lateness_max_ns: None,
            overloaded: false,
            void: false,
        }
    }

    /// The same with what `launches` came to.
    pub(super) fn with(self, launches: &[&StoredLaunch]) -> RateSeen {
        let reports = || launches.iter().map(|launch| &launch.record.initiator);
        let kept = || reports().filter_map(|report| Some((report.samples, report.punctuality?)));
        let worked = launches.iter().filter_map(|launch| launch.record.responder.worked);
        let served_share = stats::median_of(kept().map(|pair| pair.1.served_share()));
        let short = served_share.is_some_and(|served_share| served_share < Punctuality::SERVED);
        let share = |whole: u64, part: u64| part as f64 / whole.max(1) as f64;
        let on_time_share =
            stats::median_of(kept().map(|(all, punctuality)| punctuality.on_time_share(all)));
        let held_share =
            stats::median_of(kept().filter_map(|(all, punctuality)| punctuality.held_share(all)));
        let late = on_time_share.is_some_and(|on_time_share| on_time_share < Punctuality::ON_TIME);
        let idle = stats::median_of(kept().filter_map(|pair| pair.1.idle));
        let server_cpus =
            stats::median_of(launches.iter().filter_map(|launch| launch.record.server_cpus()));
        let void = late || short && Punctuality::ends_first(idle, server_cpus);
        RateSeen {
            served_per_sec: stats::median_of(kept().map(|pair| pair.1.served_per_sec)),
            served_share,
            service_took_ns: stats::median_of(worked.map(|worked| worked.took_ns)),
            server_cpus,
            late_share: stats::median_of(
                kept().map(|(all, punctuality)| share(all, punctuality.late)),
            ),
            on_time_share,
            held_share,
            generator_idle_share: idle,
            tolerance_ns: stats::median_of(kept().map(|pair| pair.1.tolerance_ns)),
            deepest: stats::median_of(kept().map(|pair| f64::from(pair.1.deepest))),
            generators: kept().map(|pair| pair.1.generators).max(),
            lateness_median_ns: stats::median_of(kept().map(|pair| pair.1.median_ns)),
            lateness_max_ns: kept().map(|pair| pair.1.max_ns).reduce(f64::max),
            overloaded: short && !void,
            void,
            ..self
        }
    }

    /// Not void where most of its launches kept the bound that was asked: a late sender only adds to their times.
    pub(super) fn by_bound(self, launches: &[Option<BoundedLaunch>]) -> RateSeen {
        let most = majority(launches.iter().flatten().map(|launch| launch.standing));
        RateSeen { void: self.void && most != Some(Standing::Passes), ..self }
    }

    /// Whether its response times are those of the rate that was asked: it was offered, and served.
    pub fn is_kept(&self) -> bool {
        !self.overloaded && !self.void
    }

    /// Why they are not: `overloaded at 50000/s`; None where they are.
    pub fn shortfall(&self) -> Option<String> {
        let what = match self.void {
            true => format!("void, since {},", self.why_void()),
            false => "overloaded".into(),
        };
        (!self.is_kept()).then(|| format!("{what} at {}/s", self.load.per_second))
    }

    /// Why the rate was not offered, where it was not.
    pub fn why_void(&self) -> &'static str {
        if self.is_out_of_generators() {
            "a generator's calls took all of its time"
        } else {
            "the sender was late"
        }
    }

    /// Whether it was not offered since the generators were in calls all the time, and not late by themselves.
    pub fn is_out_of_generators(&self) -> bool {
        self.void
            && self.on_time_share.is_some_and(|on_time_share| on_time_share >= Punctuality::ON_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kept_its_bound_is_not_void_however_late_its_sender_was() {
        let late = RateSeen { void: true, ..RateSeen::of(Load::USUAL) };
        let launches = |passed: usize| {
            let of = |nth| if nth < passed { Standing::Passes } else { Standing::Void };
            (0..7).map(|nth| Some(BoundedLaunch { ns: 1e5, standing: of(nth) })).collect::<Vec<_>>()
        };
        assert!(!late.by_bound(&launches(4)).void);
        assert!(late.by_bound(&launches(3)).void && late.by_bound(&[]).void);
    }
}
