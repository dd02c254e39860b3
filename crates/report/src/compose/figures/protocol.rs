//! The message sequence of a workload, as a study declares it: what is sent, and what is timed.

use crate::compose::labels::level_name;
use crate::compose::setup::steps_of;
use crate::{Figure, Protocol, Step};
use analysis::CaseResult;
use analysis::hypothesis::takes;
use model::factor::Factor;
use model::metric::Operation;
use study::factor::{Chosen, chosen};
use study::figure::FigureSpec;
use study::validated::ValidatedStudy;

/// One figure for each workload that the figure is about.
pub(super) fn figures(
    spec: &FigureSpec,
    declared: &ValidatedStudy,
    results: &[CaseResult],
    id: &str,
) -> Vec<Figure> {
    let only = chosen(&spec.only);
    let wanted = |text: &&String| only.level(Factor::Workload).is_none_or(|only| only == *text);
    let workloads: Vec<&String> =
        declared.levels[&Factor::Workload].iter().filter(wanted).collect();
    let many = workloads.len() > 1;
    let figure = |workload: &&String| {
        let here = only.with(Factor::Workload, workload);
        let metric = &results.iter().find(|result| result.workload.name() == *workload)?.metric;
        let protocol = match metric.operation {
            Operation::RoundTrip if metric.paced => return None,
            Operation::RoundTrip => round_trip(size(&here, declared)),
            Operation::Message => transfer(size(&here, declared)),
            Operation::SetUp => set_up(&phases(&here, results)),
        };
        let id = if many { format!("{id}-{workload}") } else { id.to_string() };
        let title = if many { format!("{}, {workload}", spec.title) } else { spec.title.clone() };
        let caption = format!("{} What the bracket spans is timed.", spec.caption.trim());
        Some(Figure::of_protocol(id, title, caption.trim_start(), protocol))
    };
    workloads.iter().filter_map(figure).collect()
}

/// `, 4 B` where messages of one size are meant.
fn size(here: &Chosen, declared: &ValidatedStudy) -> String {
    let levels = &declared.levels[&Factor::Size];
    let one = here.level(Factor::Size).or((levels.len() == 1).then(|| levels[0].as_str()));
    one.map_or(String::new(), |text| format!(", {}", level_name(Factor::Size, text)))
}

fn message(from: usize, to: usize, label: impl Into<String>) -> Step {
    Step::Message { from, to, label: label.into() }
}

fn parties(names: [&str; 2]) -> Vec<String> {
    names.map(str::to_string).to_vec()
}

fn round_trip(size: String) -> Protocol {
    Protocol {
        parties: parties(["initiator", "responder"]),
        steps: vec![
            message(0, 1, format!("message{size}")),
            message(1, 0, format!("answer{size}")),
            Step::More { label: "the next round trip begins where this one ends".into() },
        ],
        timed: Some([0, 1]),
        timed_label: "one round trip".into(),
    }
}

fn transfer(size: String) -> Protocol {
    Protocol {
        parties: parties(["initiator", "responder"]),
        steps: vec![
            message(0, 1, format!("message 1{size}")),
            message(0, 1, "message 2"),
            Step::More { label: "as many as the transfer holds".into() },
            message(0, 1, "message n"),
            message(1, 0, "acknowledgement"),
        ],
        timed: Some([0, 4]),
        timed_label: "one transfer".into(),
    }
}

/// The steps that the set-ups were stamped at, in their order.
fn phases(here: &Chosen, results: &[CaseResult]) -> Vec<String> {
    let cases = results.iter().filter(|case| !case.twin && takes(here, case));
    let longest = cases.max_by_key(|case| steps_of(case).count());
    longest.into_iter().flat_map(steps_of).map(|step| step.name.clone()).collect()
}

/// What connects is set up by both workers, of which one listens before; anything else by one.
fn set_up(phases: &[String]) -> Protocol {
    let act = |by, label: &str| Step::Act { by, label: label.into() };
    if !phases.iter().any(|phase| phase == "accept") {
        return Protocol {
            parties: parties(["one end", "the other end"]),
            steps: vec![
                Step::More { label: "both ends are opened at once, by one worker".into() },
                act(0, "close"),
                act(1, "close"),
            ],
            timed: Some([0, 2]),
            timed_label: "one set-up and tear-down".into(),
        };
    }
    Protocol {
        parties: parties(["initiator", "responder"]),
        steps: vec![
            act(1, "binds and listens, once"),
            message(0, 1, "connects"),
            act(1, "accepts"),
            message(1, 0, "closes its end"),
            act(0, "closes its own"),
        ],
        timed: Some([1, 4]),
        timed_label: "one set-up and tear-down".into(),
    }
}
