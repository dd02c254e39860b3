//! The answer in one table: each question down, each placement across.

use super::{ratios, words};
use crate::{Block, Column, Row, Table, Text, units};
use analysis::{Carries, CaseResult, GroupVerdict, Judged, Standing};
use model::distinct::{distinct, grouped};

pub fn table(judged: &Judged) -> Option<Block> {
    let compared = || judged.groups.iter().filter(|it| it.standings.len() > 1);
    let places = distinct(compared().map(|it| it.site.as_str()));
    let key = |it: &GroupVerdict| (it.workload, it.message_bytes, it.workers.clone());
    let questions = grouped(compared(), |a, b| key(a) == key(b));
    let questions = questions.into_iter().map(|groups| Question { first: groups[0], groups });
    let mut table = Table::new("The best of each, by where the two workers run")
        .words([("", 0)])
        .rows(rows(judged, questions.collect(), &places));
    table.columns.extend(places.iter().map(|place| Column::text(words::place(place), 0)));
    let compared = !table.rows.is_empty();
    table.rows.extend(cheapest(judged, &places));
    table.notes.push(Text::from(
        "≈: not separated; the value is that of the smallest median (the largest rate), and \
         CPU time goes by the median alone. Where not on one CPU, the ratio to the reference comes \
         first, and the value is that of the smallest one. Every comparison with its interval, and \
         how sure it is, follows.",
    ));
    compared.then(|| table.into())
}

/// A row per question; neighbouring sizes with the same answers share one.
fn rows(judged: &Judged, mut questions: Vec<Question>, places: &[&str]) -> Vec<Row> {
    let alike = |a: &Question, b: &Question| {
        a.first.workload == b.first.workload
            && a.first.workers == b.first.workers
            && a.first.message_bytes.is_some()
            && b.first.message_bytes.is_some()
            && a.named(judged, places) == b.named(judged, places)
    };
    questions.sort_by_key(|it| it.first.message_bytes.is_none());
    questions.sort_by_key(|it| !it.first.metric.is_round_trip());
    let row = |stretch: &[Question]| {
        let (from, to) = (&stretch[0], &stretch[stretch.len() - 1]);
        let (first, last) = (from.answers(judged, places), to.answers(judged, places));
        let cells = first.iter().zip(&last).map(|ends| match ends {
            (Some(from), Some(to)) => from.cell(judged, to),
            _ => Text::new().muted("–"),
        });
        Row::new(std::iter::once(Text::from(head(stretch))).chain(cells))
    };
    questions.chunk_by(alike).map(row).collect()
}

/// What was asked, wherever: workload, size, workers.
struct Question<'a> {
    first: &'a GroupVerdict,
    groups: Vec<&'a GroupVerdict>,
}

impl Question<'_> {
    /// One per place.
    fn answers<'a>(&self, judged: &'a Judged, places: &[&str]) -> Vec<Option<Answer<'a>>> {
        let answer = |place: &&str| {
            let group = self.groups.iter().find(|it| it.site == *place)?;
            Answer::of(judged, group)
        };
        places.iter().map(answer).collect()
    }

    /// Who is named in each place, whatever the values.
    fn named(&self, judged: &Judged, places: &[&str]) -> Vec<Option<[String; 2]>> {
        let names = |it: Answer| {
            let instead = it.instead.map_or(String::new(), |(.., case)| case.variant.clone());
            [it.best, instead]
        };
        self.answers(judged, places).into_iter().map(|it| it.map(names)).collect()
    }
}

/// What neighbouring questions ask; sizes that were measured only at their ends are not a range.
fn head(stretch: &[Question]) -> String {
    let (from, to) = (&stretch[0], &stretch[stretch.len() - 1]);
    let between = if stretch.len() > 2 { "to" } else { "and" };
    let threads = words::threads(&from.first.workers);
    let sizes = match (from.first.message_bytes, to.first.message_bytes) {
        (Some(a), Some(b)) if a != b => format!("{} {between} {}", units::size(a), units::size(b)),
        (Some(a), _) => units::size(a),
        (None, _) => String::new(),
    };
    let metric = &from.first.metric;
    let what = match (from.first.message_bytes, metric.is_transfer()) {
        (Some(_), true) => format!("{}, {sizes} messages", metric.title),
        (Some(_), false) => format!("{}, {sizes}", metric.title),
        (None, true) => metric.title.to_string(),
        (None, false) => format!("{} of a wake-up", metric.title),
    };
    let rate = from.first.rate.map(|it| format!(", {} a second", units::count(it)));
    format!("{what}{}{threads}", rate.unwrap_or_default())
}

/// The best of a group, and the one to take where that one won't do.
struct Answer<'a> {
    best: String,
    leader: &'a CaseResult,
    /// Why another may be wanted, which, and the first of those.
    instead: Option<(&'static str, String, &'a CaseResult)>,
}

impl<'a> Answer<'a> {
    fn of(judged: &'a Judged, group: &GroupVerdict) -> Option<Answer<'a>> {
        let case = |it: &Standing| &judged.results[it.result];
        let (first, asleep) = group.leaders();
        let leader = case(first?);
        let with_bytes = |it: &&Standing| !case(it).spins && case(it).carries == Carries::Bytes;
        let instead = match (leader.spins, leader.carries) {
            (true, _) => asleep.map(|it| {
                let names = words::together(group, |it| it.among_best_sleeping);
                (", busy-waits; blocking: ", names, case(it))
            }),
            (_, Carries::Signal) => group
                .standings
                .iter()
                .find(with_bytes)
                .map(|it| (", a wake-up; with bytes ", it.variant.clone(), case(it))),
            _ => None,
        };
        Some(Answer { best: words::best_of(group), leader, instead })
    }

    /// From this one, of the smallest size, to that of the largest, which names the same.
    fn cell(&self, judged: &Judged, to: &Answer) -> Text {
        let value = |from, to| ratios::brief(judged, from, to);
        let text = Text::new().code(&self.best).plain(" ").strong(value(self.leader, to.leader));
        match (&self.instead, &to.instead) {
            (Some((why, names, a)), Some((_, others, b))) => {
                let named = if names == others { names } else { &a.variant };
                text.muted(*why).code(named).plain(" ").strong(value(a, b))
            }
            _ => text,
        }
    }
}

/// Who uses least CPU in a round trip of the smallest size.
fn cheapest(judged: &Judged, places: &[&str]) -> Option<Row> {
    let counts =
        |it: &&CaseResult| it.metric.is_round_trip() && it.carries == Carries::Bytes && !it.twin;
    let all = || judged.results.iter().filter(counts).filter(|it| price(it).is_some());
    let smallest = all().filter_map(|it| it.message_bytes).min()?;
    let cells = places.iter().map(|place| {
        let here = || all().filter(|it| it.site == *place && it.message_bytes == Some(smallest));
        let least = |spinning: bool| {
            here()
                .filter(|it| spinning || !it.spins)
                .min_by(|a, b| price(a).unwrap_or(0.0).total_cmp(&price(b).unwrap_or(0.0)))
        };
        let Some(first) = least(true) else { return Text::new().muted("–") };
        let text = priced(Text::new(), first);
        match least(false).filter(|_| first.spins) {
            Some(asleep) => priced(text.muted(", and more while it waits; blocking: "), asleep),
            None => text,
        }
    });
    let head = format!("Least CPU time, {} round trip", units::size(smallest));
    Some(Row::new(std::iter::once(Text::from(head)).chain(cells)))
}

fn price(case: &CaseResult) -> Option<f64> {
    case.cpu_ns_per_operation.map(|it| it.total)
}

fn priced(text: Text, case: &CaseResult) -> Text {
    let words = price(case).map_or(String::new(), units::duration);
    text.code(&case.variant).plain(" ").strong(words)
}
