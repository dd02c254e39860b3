//! A worker's life: pin, fault in, say ready, wait for go; then the exchange with its partner;
//! report, wait for the end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::loops::Compiled;
use super::onlookers::Onlookers;
use super::page::Page;
use super::spec::{Role, Spec, WorkerReport};
use crate::clock::{self, Clock, MonotonicRaw, Tsc};
use crate::mechanism::{Carries, Endpoint};
use crate::observe::trace::Marks;
use crate::workload::payload::{Read, Untouched, Written};
use crate::workload::{Buffers, Check, Payload, Policy};

/// What a worker tells its supervisor.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// Pinned and faulted in; waiting for the word to go.
    Ready,
    /// Finished, or stopped early.
    Report(Box<WorkerReport>),
}

/// Everything a worker needs.
pub struct Worker<E> {
    /// Its side of the exchange.
    pub role: Role,
    /// Its end of the mechanism.
    pub end: E,
    /// The launch.
    pub spec: Arc<Spec>,
    /// What the mechanism carries.
    pub carries: Carries,
    /// Shared with the partner.
    pub page: Arc<Page>,
    /// Packets to and from the supervisor.
    pub link: OwnedFd,
    /// By which a trace follows it, if there is one.
    pub marks: Option<Marks>,
}

impl<E: Endpoint> Worker<E> {
    /// Lives the worker's life. Returns when the supervisor says so, or is gone.
    pub fn live(mut self) {
        let onlookers = match self.prepare() {
            Ok(onlookers) => onlookers,
            Err(error) => {
                let report = WorkerReport { error: Some(error.to_string()), ..Default::default() };
                self.tell(&Message::Report(Box::new(report)));
                self.hear();
                return;
            }
        };
        self.tell(&Message::Ready);
        if self.hear() {
            // Whoever ends it at its deadline hears nothing more of what it found.
            self.end.give_up_by(Instant::now() + Duration::from_millis(self.spec.deadline_ms));
            let report = self.measure(onlookers);
            self.tell(&Message::Report(Box::new(report)));
            self.hear();
        }
    }

    /// Pins, faults in, and opens what is to look on.
    fn prepare(&mut self) -> io::Result<Onlookers> {
        let cpu = match self.role {
            Role::Initiator => self.spec.initiator_cpu,
            Role::Responder => self.spec.responder_cpu,
        };
        if let Some(cpu) = cpu {
            if cpu as usize >= CpuSet::MAX_CPU {
                return Err(io::Error::other(format!(
                    "pin to CPU {cpu}: only the first {} can be named here",
                    CpuSet::MAX_CPU
                )));
            }
            let mut set = CpuSet::new();
            set.set(cpu as usize);
            sched_setaffinity(None, &set)
                .map_err(|error| io::Error::other(format!("pin to CPU {cpu}: {error}")))?;
        }
        self.end.start()?;
        self.page.populate(0)?;
        Onlookers::open(&self.spec, self.role, self.marks.as_ref())
    }

    fn tell(&self, message: &Message) {
        let text = serde_json::to_vec(message).expect("a report is always JSON");
        let _ = send(&self.link, &text, SendFlags::NOSIGNAL);
    }

    /// Waits for a word from the supervisor; false if it is gone.
    fn hear(&self) -> bool {
        matches!(recv(&self.link, &mut [0u8; 1][..], RecvFlags::empty()), Ok((1, _)))
    }

    fn measure(&mut self, onlookers: Onlookers) -> WorkerReport {
        match self.spec.clock {
            clock::Kind::Tsc => self.measure_by::<Tsc>(onlookers),
            clock::Kind::MonotonicRaw => self.measure_by::<MonotonicRaw>(onlookers),
        }
    }

    fn measure_by<C: Clock>(&mut self, onlookers: Onlookers) -> WorkerReport {
        let seed = self.spec.seed;
        if self.spec.verify && self.carries == Carries::Bytes {
            return self.measure_with::<C, Check>(Check::new(seed), onlookers);
        }
        #[cfg(any(debug_assertions, feature = "plant"))]
        if let Some(plant) = self.spec.plant {
            let planted = super::plant::Planted::new(plant);
            return self.measure_with::<C, _>(planted, onlookers);
        }
        match self.spec.payload {
            Policy::Untouched => self.measure_with::<C, Untouched>(Untouched, onlookers),
            Policy::Written => self.measure_with::<C, Written>(Written::default(), onlookers),
            Policy::Read => self.measure_with::<C, Read>(Read::default(), onlookers),
        }
    }

    fn measure_with<C: Clock, P: Payload>(
        &mut self,
        payload: P,
        onlookers: Onlookers,
    ) -> WorkerReport {
        let buffers = Buffers::new(self.spec.message_bytes, self.spec.buffer_offset);
        let mut loops = Compiled::<C, E, P>::new(&mut self.end, payload, buffers);
        Exchange::new(&mut loops, &self.spec, self.carries, &self.page, onlookers).hold(self.role)
    }
}
