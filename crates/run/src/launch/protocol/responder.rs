//! The responder's side of the protocol.

use std::io;

use super::super::page::Command;
use super::{STRETCHES, WorkerProtocol};
use mechanisms::network::ConnectionKind;
use model::launch::Usage;
use model::mechanism::Carries;
use workload::loops::With;

impl WorkerProtocol<'_> {
    /// The responder: carries out commands, until the one to stop.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        if self.spec.half.is_some() && self.traits.sets_up {
            return self.accept_set_ups();
        }
        for taken in 0.. {
            let command = self.next_command(taken)?;
            self.begin_deadline();
            match command {
                Command::First if self.carries == Carries::Own => {}
                Command::First => self.patiently(|channel| channel.answer(With::Nothing, 1))?,
                Command::Verify(count) => {
                    self.loops.channel().answer(With::Pattern(!self.spec.seed), count)?;
                }
                Command::Exchange { lead, samples, batch } => {
                    self.exchange(lead, samples, batch)?
                }
                Command::Finish => self.loops.answer_finish(&mut self.report)?,
                Command::Stop => return Ok(()),
            }
        }
        Ok(())
    }

    /// The responder's part in a stretch. What it reports is of those with samples, and of their leads where nothing
    /// tells these from the samples.
    fn exchange(&mut self, lead: u64, samples: u64, batch: u64) -> io::Result<()> {
        self.loops.prepare_following(lead, samples * batch);
        let (count, each) = if self.row.lead_runs_on {
            (lead + samples * batch, 1)
        } else {
            self.loops.follow(1, lead)?;
            (samples, batch)
        };
        let stretches = if self.carries == Carries::Own {
            0 // its partner talks to itself
        } else if self.spec.pinned()
            || self.spec.serves_in_threads()
            || self.spec.cycles > 0
            || self.loops.is_whole()
        {
            1 // threads that were begun again between parts would be timed
        } else {
            STRETCHES.min(count).max(1)
        };
        let before = self.used();
        // The warm-up comes before: that of it is nobody's.
        if !std::mem::replace(&mut self.timing, samples > 0) {
            self.report.cpus.clear();
            self.report.usage = Usage::default();
        }
        self.instrumentation.start()?;
        for nth in 0..stretches {
            let part = count * (nth + 1) / stretches - count * nth / stretches;
            self.loops.follow(part, each)?;
            self.report.cpus.push(self.loops.cpu());
        }
        self.instrumentation.stop(count * each, Vec::new(), &mut self.report)?;
        let mut used = self.used().since(&before);
        if self.row.lead_runs_on && self.spec.cycles > 0 {
            // Of a slice the lead is no small part.
            used = used.part(samples * batch, lead + samples * batch);
        }
        self.report.usage = self.report.usage.with(&used);
        self.loops.finish_following(&mut self.report);
        Ok(())
    }

    /// The responder of set-ups from another host: accepts connections up to the last one.
    fn accept_set_ups(&mut self) -> io::Result<()> {
        let mut before = self.used();
        loop {
            let mut kind = [0];
            self.loops.channel().hear(&mut kind)?;
            match kind[0] {
                it if it == ConnectionKind::TimingStarts as u8 => {
                    self.report.cpus.push(self.loops.cpu());
                    before = self.used();
                }
                it if it == ConnectionKind::TimingEnds as u8 => {
                    self.report.usage = self.used().since(&before);
                    self.report.cpus.push(self.loops.cpu());
                }
                it if it == ConnectionKind::Last as u8 => return Ok(()),
                _ => {}
            }
        }
    }
}
