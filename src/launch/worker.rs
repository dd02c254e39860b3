//! A worker's life: pin, fault in, say ready, wait for go; then the exchange with its partner;
//! report, wait for the end.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::loops::Compiled;
use super::page::Page;
use super::spec::{Role, Spec, WorkerReport};
use crate::clock::{self, Clock, MonotonicRaw, Tsc};
use crate::mechanism::{Carries, Endpoint};
use crate::observe::counts::Counting;
use crate::observe::probe::{Onlooker, Probe};
use crate::sys::perf::Kernel;
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
}

impl<E: Endpoint> Worker<E> {
    /// Lives the worker's life. Returns when the supervisor says so, or is gone.
    pub fn live(mut self) {
        let counting = match self.prepare() {
            Ok(counting) => counting,
            Err(error) => {
                let report = WorkerReport { error: Some(error.to_string()), ..Default::default() };
                self.tell(&Message::Report(Box::new(report)));
                self.hear();
                return;
            }
        };
        self.tell(&Message::Ready);
        if self.hear() {
            let report = self.measure(counting);
            self.tell(&Message::Report(Box::new(report)));
            self.hear();
        }
    }

    /// Pins, faults in, and opens what is to be counted.
    fn prepare(&mut self) -> io::Result<Option<Counting<'static>>> {
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
        let Some(Probe { onlooker: Onlooker::Counters(family), times, .. }) = self.spec.observe
        else {
            return Ok(None);
        };
        let counting = Counting::open(&Kernel, family, times, Path::new("/"));
        counting.map(Some).map_err(|refusal| io::Error::other(refusal.reason))
    }

    fn tell(&self, message: &Message) {
        let text = serde_json::to_vec(message).expect("a report is always JSON");
        let _ = send(&self.link, &text, SendFlags::NOSIGNAL);
    }

    /// Waits for a word from the supervisor; false if it is gone.
    fn hear(&self) -> bool {
        matches!(recv(&self.link, &mut [0u8; 1][..], RecvFlags::empty()), Ok((1, _)))
    }

    fn measure(&mut self, counting: Option<Counting<'static>>) -> WorkerReport {
        match self.spec.clock {
            clock::Kind::Tsc => self.measure_by::<Tsc>(counting),
            clock::Kind::MonotonicRaw => self.measure_by::<MonotonicRaw>(counting),
        }
    }

    fn measure_by<C: Clock>(&mut self, counting: Option<Counting<'static>>) -> WorkerReport {
        let seed = self.spec.seed;
        if self.spec.verify && self.carries == Carries::Bytes {
            return self.measure_with::<C, Check>(Check::new(seed), counting);
        }
        match self.spec.payload {
            Policy::Untouched => self.measure_with::<C, Untouched>(Untouched, counting),
            Policy::Written => self.measure_with::<C, Written>(Written::default(), counting),
            Policy::Read => self.measure_with::<C, Read>(Read::default(), counting),
        }
    }

    fn measure_with<C: Clock, P: Payload>(
        &mut self,
        payload: P,
        counting: Option<Counting<'static>>,
    ) -> WorkerReport {
        let buffers = Buffers::new(self.spec.message_bytes, self.spec.buffer_offset);
        let mut loops = Compiled::<C, E, P>::new(&mut self.end, payload, buffers);
        Exchange::new(&mut loops, &self.spec, self.carries, &self.page, counting).hold(self.role)
    }
}
