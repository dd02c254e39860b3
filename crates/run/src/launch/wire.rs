//! Frames over standard streams: one kind byte, a 32-bit little-endian length, the payload.
//!
//! Lengths are checked before anything is allocated; a frame that claims more than
//! [`LARGEST`] ends the conversation.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Largest payload, in bytes.
pub const LARGEST: usize = 1 << 20;

/// Bytes read at once.
const CHUNK: usize = 16 << 10;

pub const SAMPLES_PER_FRAME: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// To the supervisor: the spec, as JSON.
    Spec = b'L',
    /// To the supervisor: start.
    Go = b'G',
    /// To the supervisor: the initiator's turn has come.
    Turn = b'I',
    /// To the supervisor: let the workers exit, and report.
    End = b'E',
    /// From the supervisor: the workers are ready.
    Ready = b'R',
    /// From the supervisor: the initiator waits for its turn.
    Paused = b'P',
    /// From the supervisor: the workers have finished timing.
    Timed = b'T',
    /// From the supervisor: the record, as JSON. Last but for samples.
    Record = b'J',
    /// From the supervisor: samples, little-endian 64-bit ticks.
    Samples = b'S',
    /// From the supervisor: nothing follows.
    Done = b'D',
    /// From the far side of a launch between two hosts: its port, 16 bits, little-endian.
    Bound = b'B',
    /// From the far side: its worker has been started.
    Going = b'O',
    /// Both ways between hosts: who one is, as JSON; later an empty one is answered by an empty one.
    Hello = b'H',
    /// To the far host: begin a launch; its number, 32 bits, its padding, 32 bits, and its spec.
    Begin = b'N',
    /// Both ways between hosts: a frame of a launch; its number, its kind, its payload.
    Relay = b'X',
    /// Both ways between hosts: a launch is over; its number.
    Over = b'V',
}

impl FrameKind {
    /// The kind that `byte` stands for.
    pub fn from_byte(byte: u8) -> Option<FrameKind> {
        use FrameKind::*;
        let all = [
            Spec, Go, Turn, End, Ready, Paused, Timed, Record, Samples, Done, Bound, Going, Hello,
            Begin, Relay, Over,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Writes one frame with a single write where the stream allows.
pub fn write_frame(mut to: impl Write, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(5 + payload.len());
    frame.push(kind as u8);
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(payload);
    to.write_all(&frame)?;
    to.flush()
}

/// The same for a stream that somebody in between passes on by the line, as srun(1) does: a line ends
/// behind each frame. The reader of frames skips it.
pub fn write_frame_line(mut to: impl Write, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(6 + payload.len());
    write_frame(&mut frame, kind, payload)?;
    frame.push(LINE_END);
    to.write_all(&frame)?;
    to.flush()
}

/// What may stand between frames, and begins none.
const LINE_END: u8 = b'\n';

/// Why no frame came.
#[derive(Debug)]
pub enum Missing {
    /// The other side closed its end.
    Closed,
    /// The deadline passed.
    Late,
    /// Another descriptor became readable: the reader is wanted elsewhere.
    Interrupted,
    /// The stream is broken, or holds something else than frames.
    Broken(io::Error),
}

/// Reads frames from a descriptor.
pub struct Reader<F> {
    fd: F,
    buffer: Vec<u8>,
}

impl<F: AsFd> Reader<F> {
    /// A reader over `fd`, which may block.
    pub fn new(fd: F) -> Reader<F> {
        Reader { fd, buffer: Vec::new() }
    }

    /// The next frame, if all of it is here already.
    pub fn buffered(&mut self) -> Result<Option<(FrameKind, Vec<u8>)>, Missing> {
        self.take_frame()
    }

    /// What has come that is no frame yet: to be shown where it never becomes one.
    pub fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads what there is, once; waits if there is nothing.
    pub fn fill(&mut self) -> Result<(), Missing> {
        // Into room that nobody has touched: every page more is a fault in each new supervisor.
        self.buffer.reserve(CHUNK);
        match rustix::io::read(&self.fd, spare_capacity(&mut self.buffer)) {
            Ok(0) => Err(Missing::Closed),
            Ok(_) => Ok(()),
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Missing::Broken(error.into())),
        }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The next frame; gives up at `deadline`, or as soon as one of `wanted` is readable.
    pub fn next<'a>(
        &mut self,
        deadline: Option<Instant>,
        wanted: impl IntoIterator<Item = BorrowedFd<'a>>,
    ) -> Result<(FrameKind, Vec<u8>), Missing> {
        let wanted: Vec<BorrowedFd<'a>> = wanted.into_iter().collect();
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(frame);
            }
            self.await_bytes(deadline, &wanted)?;
            self.fill()?;
        }
    }

    /// Waits until anything has come, and leaves it there; gives up as [`Reader::next`] does.
    pub fn await_any<'a>(
        &mut self,
        deadline: Option<Instant>,
        wanted: impl IntoIterator<Item = BorrowedFd<'a>>,
    ) -> Result<(), Missing> {
        let wanted: Vec<BorrowedFd<'a>> = wanted.into_iter().collect();
        while self.buffer.is_empty() {
            self.await_bytes(deadline, &wanted)?;
            self.fill()?;
        }
        Ok(())
    }

    fn take_frame(&mut self) -> Result<Option<(FrameKind, Vec<u8>)>, Missing> {
        take_frame(&mut self.buffer)
    }

    fn await_bytes(
        &self,
        deadline: Option<Instant>,
        wanted: &[BorrowedFd<'_>],
    ) -> Result<(), Missing> {
        let mut fds = vec![PollFd::new(&self.fd, PollFlags::IN)];
        fds.extend(wanted.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        loop {
            match poll(&mut fds, time_left(deadline).as_ref()) {
                Ok(0) => return Err(Missing::Late),
                Ok(_) if fds[1..].iter().any(|fd| !fd.revents().is_empty()) => {
                    return Err(Missing::Interrupted);
                }
                Ok(_) => return Ok(()),
                // A signal says nothing of the stream: a read might block for good.
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Missing::Broken(error.into())),
            }
        }
    }
}

/// Takes the first frame off `held`, if all of it is there.
///
/// # Errors
/// [`Missing::Broken`] where no frame begins there, or one claims to be too long.
pub fn take_frame(buffer: &mut Vec<u8>) -> Result<Option<(FrameKind, Vec<u8>)>, Missing> {
    let ends = buffer.iter().take_while(|byte| **byte == LINE_END).count();
    buffer.drain(..ends);
    let Some((head, rest)) = buffer.split_first_chunk::<5>() else { return Ok(None) };
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let broken = |what: &str| Missing::Broken(io::Error::other(what.to_string()));
    let kind = FrameKind::from_byte(head[0]).ok_or_else(|| broken("not a frame"))?;
    if length > LARGEST {
        return Err(broken("oversized frame"));
    }
    if rest.len() < length {
        return Ok(None);
    }
    let payload = rest[..length].to_vec();
    buffer.drain(..5 + length);
    Ok(Some((kind, payload)))
}

/// What is left until `deadline`, for poll(2).
pub fn time_left(deadline: Option<Instant>) -> Option<Timespec> {
    let left = deadline?.saturating_duration_since(Instant::now());
    Some(Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn pair() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().unwrap()
    }

    #[test]
    fn frames_arrive_in_order_and_then_the_end() {
        let (from, mut to) = pair();
        write_frame(&mut to, FrameKind::Ready, b"").unwrap();
        write_frame(&mut to, FrameKind::Record, b"{}").unwrap();
        drop(to);
        let mut reader = Reader::new(from);
        assert_eq!(reader.next(None, None).unwrap(), (FrameKind::Ready, vec![]));
        assert_eq!(reader.next(None, None).unwrap(), (FrameKind::Record, b"{}".to_vec()));
        assert!(matches!(reader.next(None, None), Err(Missing::Closed)));
    }

    #[test]
    fn lines_may_end_between_frames() {
        let (from, mut to) = pair();
        write_frame_line(&mut to, FrameKind::Samples, b"\n\n").unwrap();
        write_frame_line(&mut to, FrameKind::Done, b"").unwrap();
        drop(to);
        let mut reader = Reader::new(from);
        assert_eq!(reader.next(None, None).unwrap(), (FrameKind::Samples, b"\n\n".to_vec()));
        assert_eq!(reader.next(None, None).unwrap(), (FrameKind::Done, vec![]));
        assert!(matches!(reader.next(None, None), Err(Missing::Closed)));
        assert!(FrameKind::from_byte(LINE_END).is_none());
    }

    #[test]
    fn half_a_frame_is_late_and_an_oversized_one_broken() {
        let (from, mut to) = pair();
        to.write_all(b"J\x10\0").unwrap();
        let mut reader = Reader::new(from);
        let soon = Some(Instant::now() + Duration::from_millis(20));
        assert!(matches!(reader.next(soon, None), Err(Missing::Late)));
        to.write_all(b"\0\x7f").unwrap();
        assert!(matches!(reader.next(None, None), Err(Missing::Broken(_))));
    }

    #[test]
    fn a_wanted_reader_stops() {
        let (from, _to) = pair();
        let (wanted, mut wake) = pair();
        wake.write_all(b"x").unwrap();
        let mut reader = Reader::new(from);
        let result = reader.next(None, Some(wanted.as_fd()));
        assert!(matches!(result, Err(Missing::Interrupted)));
    }
}
