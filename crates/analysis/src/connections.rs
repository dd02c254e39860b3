//! What an operation carries over several connections.

use super::CaseResult;

impl CaseResult {
    /// Messages that one operation carries, both ways together: its metric's, which of a fan-out are those of the
    /// receivers that it has by itself.
    pub fn messages(&self) -> u64 {
        match (u64::from(self.workload.traits().receivers), self.load) {
            (own @ 1.., Some(load)) => self.metric.messages / own * u64::from(load.connections),
            _ => self.metric.messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::case;
    use model::load::Load;
    use model::workload::Workload;

    #[test]
    fn a_fan_out_carries_a_message_to_and_from_each_receiver_and_a_crowd_counts_messages() {
        let of = |workload: Workload, load: Option<Load>, messages: u64| {
            let mut case = case("pipe", "free", None);
            (case.workload, case.load) = (workload, load);
            case.metric.messages = messages;
            case.messages()
        };
        assert_eq!(of(Workload::FanOut, Some(Load::closed(8)), 16), 16);
        assert_eq!(of(Workload::FanOut, Some(Load::closed(3)), 16), 6);
        assert_eq!(of(Workload::Messaging, Some(Load::closed(3)), 1), 1);
        assert_eq!(of(Workload::Latency, None, 2), 2);
    }
}
