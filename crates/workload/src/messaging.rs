//! Messaging: the crowd of hackbench(8). Senders, 20 where nothing else is asked, each send messages to each of as many
//! receivers, over one connection per receiver, which all senders share.
//!
//! Timed: from before the order to the senders to the arrival of an acknowledgement, which the responder sends when
//! every receiver has all of its messages. Senders are processes (or threads) of the initiator's, receivers of the
//! responder's; they are begun before, and live as long as the launch. They write and read descriptors as hackbench
//! does, so that what has more to an end than that has no crowd. Receivers count by sender; a check compares bytes.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::crowd::{self, Crowd, Task};
use super::many::asked;
use super::payload::Touched;
use super::{Check, Found, Payload, Side, Size, Timed, WorkloadSpec, median};
use mechanisms::Endpoint;
use mechanisms::fd::{read_full, write_all};
use model::launch::{Usage, WorkerReport};
use model::workload::Workload;

pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("messaging"),
    unit: Unit::PerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    messages: 1,
    paced: false,
    section: Cow::Borrowed("A crowd"),
    title: Cow::Borrowed("Messages in a crowd"),
    plural: Cow::Borrowed("Transfers in a crowd"),
    of: Cow::Borrowed(" of {} messages"),
    axis: Cow::Borrowed("messages of a crowd"),
    qualifier: Cow::Borrowed("messaging"),
    definition: Cow::Borrowed(
        "Messages in a crowd are those that its senders sent to each of as many receivers, over the time from the \
         word to begin until every receiver had all of its own.",
    ),
};

pub struct Messaging {
    asked: WorkloadSpec,
    crowd: Option<Crowd>,
    /// What the crowd had used before the timed part.
    before: Usage,
}

impl Messaging {
    /// Has the senders send so many messages, and waits until all of them have come.
    fn send<E: Endpoint, P>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        messages: u64,
    ) -> io::Result<()> {
        let Messaging { crowd, asked, .. } = self;
        let crowd = match crowd {
            Some(crowd) => crowd,
            None => {
                let to = Arc::new(descriptors(sides, true)?);
                let of = |sender| asked.sender(sender, to.clone());
                let senders = (0..asked.half()).map(of).collect();
                crowd.insert(Crowd::begin(senders, asked.open.same_process)?)
            }
        };
        crowd.order(1, messages)?;
        crowd.await_all()?;
        sides[0].end.recv(&mut [0])
    }

    /// Puts what the crowd used while it was timed into `report`.
    fn account(&self, report: &mut WorkerReport) {
        if let Some(crowd) = &self.crowd {
            report.usage = report.usage.with(&crowd.used().since(&self.before));
        }
    }

    fn note_usage(&mut self) {
        self.before = self.crowd.as_ref().map(Crowd::used).unwrap_or_default();
    }
}

impl Timed for Messaging {
    const WORKLOAD: Workload = Workload::Messaging;
    const METRIC: &'static Metric = &METRIC;
    const LASTS_NS: Option<f64> = Some(crowd::LASTING_NS);
    /// Every transfer ends with its acknowledgement.
    const LEAD_RUNS_ON: bool = false;

    fn new(asked: WorkloadSpec) -> Messaging {
        Messaging { asked, crowd: None, before: Usage::default() }
    }

    fn lead_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        operations: u64,
    ) -> io::Result<()> {
        self.send(sides, operations)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        let Messaging { crowd, asked, .. } = self;
        let crowd = match crowd {
            Some(crowd) => crowd,
            None => {
                let all = descriptors(sides, false)?.into_iter().zip(0..);
                let tasks = all.map(|(from, receiver)| asked.receiver(receiver, from)).collect();
                crowd.insert(Crowd::begin(tasks, asked.open.same_process)?)
            }
        };
        crowd.order(samples, batch)?;
        for _ in 0..samples {
            crowd.await_all()?;
            sides[0].end.send(&[0xAC])?;
        }
        Ok(())
    }

    fn prepare(&mut self, _samples: u64) {
        self.note_usage();
    }

    fn prepare_following(&mut self, _lead: u64, _operations: u64) {
        self.note_usage();
    }

    /// How long a sample took, by its median, beside the messages a second.
    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        self.account(report);
        let ticks = samples.iter().map(|ticks| ticks.load(Ordering::Relaxed) as f64);
        if let Some(middle) = median(ticks) {
            report.parts = vec![("time_ns".into(), middle * self.asked.ns_per_tick)];
        }
        Ok(())
    }

    fn finish_following(&self, report: &mut WorkerReport) {
        self.account(report);
    }

    fn batch(asked: u64, estimate_ns: f64, connections: u64) -> u64 {
        crowd::batch(asked, estimate_ns, connections * connections)
    }

    /// Every pair of a sender and a receiver has as many.
    fn size(found: &Found) -> Size {
        crowd::size(found, found.connections * found.connections)
    }
}

/// Of so many `messages` those of one sender to one receiver, of `half` each: pairs take turns.
fn share(messages: u64, half: u64, (sender, receiver): (u64, u64)) -> u64 {
    let pairs = half * half;
    (messages + pairs - 1 - (sender + half * receiver)) / pairs
}

impl WorkloadSpec {
    /// Senders of a crowd, and receivers.
    fn half(&self) -> u64 {
        u64::from(self.load.connections)
    }

    /// What is done to each message of a pair behind its first byte; None if nothing is.
    fn touch(&self, sender: u64, receiver: u64) -> Option<Touched> {
        if self.verify {
            let pair = sender + self.half() * receiver;
            return Some(Touched::Check(Check::new(self.seed.wrapping_add(pair))));
        }
        Touched::of(self.payload)
    }

    /// Sends its share to each receiver in turn. The first byte says who it is.
    fn sender(&self, sender: u64, to: Arc<Vec<OwnedFd>>) -> Task {
        let mut message = vec![0xA5; self.open.message_bytes];
        message[0] = sender as u8;
        let half = self.half();
        let mut touched: Vec<_> = (0..half).map(|receiver| self.touch(sender, receiver)).collect();
        Box::new(move |messages: u64| {
            for round in 0..messages.div_ceil(half * half) {
                for ((to, touched), receiver) in to.iter().zip(&mut touched).zip(0..) {
                    if round >= share(messages, half, (sender, receiver)) {
                        continue;
                    }
                    if let Some(touched) = touched {
                        touched.fill(&mut message[1..]);
                    }
                    write_all(to, &message)?;
                }
            }
            Ok(())
        })
    }

    /// Receives its share from all senders, in whichever order they come, and compares their numbers.
    fn receiver(&self, receiver: u64, from: OwnedFd) -> Task {
        let mut message = vec![0; self.open.message_bytes];
        let half = self.half();
        let mut touched: Vec<_> =
            (0..half).map(|sender| self.touch(sender, receiver).map(Touched::answering)).collect();
        Box::new(move |messages: u64| {
            let of = |sender| share(messages, half, (sender, receiver));
            let due: Vec<u64> = (0..half).map(of).collect();
            let mut came = vec![0; half as usize];
            for _ in 0..due.iter().sum::<u64>() {
                read_full(&from, &mut message)?;
                let sender = message[0] as usize;
                *came.get_mut(sender).ok_or_else(|| stranger(sender))? += 1;
                if let Some(touched) = &mut touched[sender] {
                    touched.look(&message[1..])?;
                }
            }
            if came != due {
                let text = format!("{came:?} messages came of the senders, of {due:?}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            Ok(())
        })
    }
}

#[cold]
fn stranger(sender: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of sender {sender}, who is none"))
}

/// A descriptor of each side's end for its crowd to share: to write to, or to read from.
pub(super) fn descriptors<E: Endpoint, P>(
    sides: &mut [Side<'_, E, P>],
    to_write: bool,
) -> io::Result<Vec<OwnedFd>> {
    let own = |side: &mut Side<'_, E, P>| {
        let (to, from) = asked(&mut *side.end)?.shared().ok_or_else(not_shared)?;
        if to_write { to.try_clone_to_owned() } else { from.try_clone_to_owned() }
    };
    sides.iter_mut().map(own).collect()
}

#[cold]
fn not_shared() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "several senders can't share an end of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_a_pair_and_whole_rounds_have_one_of_each() {
        let numbers = [0, 1, 19, 20, 21, 399, 400, 401, 999];
        for (half, messages) in
            [1, 3, 20].into_iter().flat_map(|number| numbers.map(|total| (number, total)))
        {
            let of = |nth| share(messages, half, (nth % half, nth / half));
            let shares: Vec<u64> = (0..half * half).map(of).collect();
            assert_eq!(shares.iter().sum::<u64>(), messages);
            let (least, most) = (shares.iter().min(), shares.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{messages}: {shares:?}");
        }
        let whole = |(messages, half): (f64, u64)| crowd::whole(messages, half * half);
        let whole = [(1.0, 20), (400.0, 20), (400.5, 20), (10.0, 3)].map(whole);
        assert_eq!(whole, [400, 400, 800, 18]);
    }

    #[test]
    fn a_sample_lasts_and_a_launch_has_some() {
        let found = Found {
            operation_ns: 1_000.0,
            ack_ns: 0.0,
            lasting_ns: 1e9,
            shortest_ns: 0.0,
            batch: None,
            connections: 20,
            unbatched: false,
        };
        assert_eq!(Messaging::size(&found), Size { batch: 20_000, samples: 3 });
        let slow = Found { operation_ns: 1e6, ..found };
        assert_eq!(Messaging::size(&slow), Size { batch: 400, samples: 3 });
        let asked = Found { batch: Some(10), ..found };
        assert_eq!(Messaging::size(&asked), Size { batch: 10, samples: 6_000 });
    }
}
