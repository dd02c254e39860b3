//! Open loops: how the schedule was kept beside the response times, and who could not serve it.

use super::{labels, loads, quantities};
use crate::{Block, units};
use analysis::quantity::Topic;
use analysis::{CaseResult, GroupVerdict, Judged, RateSeen, Status};
use model::workload::Arrivals;

const MEANING: &str = "Response times count from when a message was due by its schedule, so that a wait \
     behind others is in them. Served: over all connections; share: of what was due \
     in the same launch. On time: sent within the tolerance (10 µs; 200 µs on one CPU; or 1 % of the mean \
     interval) of its scheduled time, or as soon as the depth allowed. Held: sent later because the generator was \
     serving another client. Late: sent more than 1 µs late for any reason; begun: by how much, median and largest. On one CPU the sender sleeps until a message is due, and its wake-up is in the response. \
     `noop` sends nothing: what of it was served is the rate that the sender keeps by itself.";

/// A case that kept a schedule, and how.
fn cases(judged: &Judged) -> impl Iterator<Item = (&CaseResult, RateSeen)> {
    let results =
        judged.results.iter().filter(|result| result.status == Status::Ok && !result.twin);
    results.filter_map(|case| Some((case, case.rate?)))
}

pub fn tables(judged: &Judged) -> Vec<Block> {
    let note = format!("{} {MEANING}", arrived(judged.run.request.arrivals));
    let table = quantities::table(judged, Topic::Schedule, "How the schedule was kept");
    table.map(|table| table.note(note).into()).into_iter().collect()
}

/// How messages came.
fn arrived(arrivals: Arrivals) -> String {
    match arrivals {
        Arrivals::Poisson => "Messages are due independently of each other (Poisson).".into(),
        Arrivals::Constant => "Messages are due at equal distances.".into(),
        Arrivals::Bursts { messages, every_ns } => {
            let every = units::duration(every_ns as f64);
            format!("Messages are due in bursts of {messages}, one every {every}.")
        }
    }
}

/// A sentence for each case that was not offered, or could not serve, what was due.
pub fn remarks(judged: &Judged) -> Vec<Block> {
    if !judged.capacity.is_empty() {
        return Vec::new(); // rates beyond the capacity are tried on purpose
    }
    let fell_short = cases(judged).filter(|(_, rate)| !rate.is_kept());
    let warnings = fell_short.map(|(case, rate)| {
        let why = if rate.is_out_of_generators() {
            "a generator's calls for its many clients took all of its time while their connections might have borne \
                 more, so that this is no result of the mechanism; measure with a lower --rate, or where more CPUs \
                 generate"
        } else if rate.void {
            "more than 1 % of the messages were sent late; measure on a quieter machine, or with a lower --rate"
        } else {
            "messages queued for as long as the launch lasted, and response times only show its \
                 length: measure with a lower --rate"
        };
        Block::warning(format!("{}: {why}", loads::told(&labels::case(case), rate)))
    });
    warnings.collect()
}

/// The cases of a group that are not ranked, since their schedule was not kept.
pub fn unranked<'a>(judged: &'a Judged, group: &GroupVerdict) -> Vec<&'a CaseResult> {
    let here = |case: &CaseResult| {
        case.workload == group.workload
            && case.site == group.site
            && labels::conditions(&case.case) == labels::conditions(&group.case)
            && (case.message_bytes == group.message_bytes || case.message_bytes.is_none())
    };
    let of_group = cases(judged).filter(|(case, rate)| !rate.is_kept() && here(case));
    of_group.map(|(case, _)| case).collect()
}
