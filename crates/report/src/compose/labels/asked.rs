//! What was asked of a case beside its variant, size and place; and what it does without, which its time would hide.

use crate::compose::loads;
use analysis::CaseResult;
use model::case::Case;
use model::factor;
use model::total::Total;
use store::Concurrent;

/// Of a fleet, the nodes: `, n1–n2, all pairs at once`.
pub(super) fn between(case: &CaseResult) -> String {
    let pairs = if case.concurrent == Some(Concurrent::All) { ", all pairs at once" } else { "" };
    let nodes = case.nodes.join("–");
    if nodes.is_empty() { nodes } else { format!(", {nodes}{pairs}") }
}

/// Under which conditions a case of its variant, workload, size and place was measured: `, 10,000 a second, 16
/// connections by epoll`, `, 16M a transfer`, `, bytes written`; nothing of what is usual. What is known by no such
/// word has a name of its own (`Identity`).
pub fn conditions<V>(case: &Case<V>) -> String {
    let load = case.load.map(loads::loaded).unwrap_or_default();
    let total = match case.total {
        None | Some(Total::Long) => String::new(),
        Some(total) => format!(", {total} a transfer"),
    };
    let plain = factor::conditions(case);
    let twin = if case.twin { ", again (A/A)" } else { "" };
    format!("{total}{load}{plain}{twin}")
}

/// `, 20 % lost`, `, 0.1 % wrong`: of a case that does without some of its messages, or doesn't notice that they are
/// wrong, what a time without it would hide; nothing of others.
pub(super) fn lossy(case: &CaseResult) -> String {
    let Some(delivery) = &case.delivery else { return String::new() };
    let of = |name: &str| delivery.counts.get(name).copied().unwrap_or(0) as f64;
    let wrong = of("silently_wrong_messages") / of("due_messages").max(1.0);
    let lost = delivery.residual_loss.map_or(0.0, |residual_loss| residual_loss.share);
    let said = [(lost, "lost"), (wrong, "wrong")].into_iter().filter(|pair| pair.0 > 0.0);
    said.map(|(share, what)| format!(", {} {what}", rough_percent(share))).collect()
}

/// `20 %`, `0.3 %`, `<0.1 %`.
fn rough_percent(share: f64) -> String {
    match 100.0 * share {
        ..0.1 => "<0.1 %".into(),
        it @ ..9.95 => format!("{it:.1} %"),
        it => format!("{it:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use crate::compose::labels;
    use analysis::testing::case;
    use analysis::{DeliveryCounters, Share};

    #[test]
    fn what_is_lost_or_wrong_stands_beside_the_time_of_a_case() {
        let of = |lost: f64, wrong: u64| {
            let mut case = case("udp:loss=20%,reliability=none", "same-cpu", None);
            let counts = [("due_messages", 1_000), ("silently_wrong_messages", wrong)];
            case.delivery = Some(DeliveryCounters {
                counts: counts.map(|(name, count)| (name.to_string(), count)).into(),
                residual_loss: Some(Share { share: lost, low: lost, high: lost }),
                wire_bytes_per_payload_byte: None,
                resent_datagrams_per_message: None,
            });
            case
        };
        let lossy = of(0.2, 0);
        for shown in
            [labels::value(&lossy), labels::short_value(&lossy), labels::brief_value(&lossy)]
        {
            assert!(shown.ends_with(", 20 % lost"), "{shown}");
        }
        assert!(labels::short_value(&of(0.0004, 31)).ends_with(", <0.1 % lost, 3.1 % wrong"));
        let whole = labels::short_value(&of(0.0, 0));
        assert!(!whole.contains("lost") && !whole.contains("wrong"), "{whole}");
    }
}
