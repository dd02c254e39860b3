//! How long an end of fragments waits for the next one, or for a credit.

use std::io;
use std::time::Instant;

use super::super::PATIENCE;
use super::FragmentsEnd;

const PATIENCE_MS: u64 = PATIENCE.as_millis() as u64;
/// Silence that is borne while nothing is known to be lost, in [`PATIENCE`]s: 10 s, and half a
/// second more for each MiB of a message. The partner may be filling or checking one, or may
/// not get its CPU (386 ms were seen in the middle of a message on a busy machine).
pub(super) const SILENCE: u64 = 20;

impl<const SEND: usize, const TAKE: usize> FragmentsEnd<SEND, TAKE> {
    #[cold]
    pub(super) fn await_credit(&mut self) -> io::Result<()> {
        let mut waits = 0;
        self.ask_for_credits()?;
        while !self.is_over(waits) {
            if self.take(&mut [], 0)?.is_some() {
                return Ok(());
            }
            waits += 1;
        }
        let (under_way, ms) = (self.sent - self.credited, waits * PATIENCE_MS);
        let text = format!(
            "udp: {under_way} fragments were sent, and no credit for them came in {ms} ms: they were \
             lost, or it was"
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }

    /// Whether silence has been borne for long enough: after so many `waits`, or because another one
    /// would last until the launch ends.
    fn is_over(&self, waits: u64) -> bool {
        let late =
            |moment: Instant| moment.saturating_duration_since(Instant::now()) < PATIENCE * 6 / 5;
        waits >= self.silence || waits > 0 && self.deadline.get().is_some_and(late)
    }

    /// Nothing has come for the `waits`th time since fragment `next` of `count` is awaited: an
    /// error where something is known to be lost, or the partner has been silent for too long.
    #[cold]
    pub(super) fn bear_silence(&mut self, waits: u64, next: u32, count: u32) -> io::Result<()> {
        let drops = sys::socket::drops(&self.socket).unwrap_or(0);
        // A fragment that came early shows a gap; one that is merely absent may not have been sent yet.
        if self.early.is_empty() && drops == 0 && !self.is_over(waits) {
            return Ok(());
        }
        let came = u64::from(next) + self.early.of(self.incoming);
        // Of a message that never began, nobody knows whether it was sent.
        if came > 0 || !self.early.is_empty() {
            self.missing = u64::from(count).saturating_sub(came);
        }
        let text = format!(
            "udp: a fragment was lost: nothing for {} ms, {came} of {count} fragments of message \
             {} came, the first missing is {}; {drops} dropped by a full buffer here, {} came out \
             of order, {} twice",
            waits * PATIENCE_MS,
            self.incoming + 1,
            next + 1,
            self.early.reordered,
            self.early.duplicated,
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}
