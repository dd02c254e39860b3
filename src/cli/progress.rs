//! Progress on standard error: one line that is rewritten on a terminal, plain lines now and
//! then elsewhere. Drawn only while nothing is timed.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::{screen, tell};
use ::report::terminal;
use ::run::campaign::{Progress, Status};
use model::visible::one_line;

/// How often a line is written where lines can't be rewritten.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// How often the line is rewritten on a terminal.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Progress for a person.
pub struct StderrProgress {
    quiet: bool,
    terminal: bool,
    drawn: bool,
    last: Option<Instant>,
}

impl StderrProgress {
    /// Progress that says nothing if `quiet`.
    pub fn new(quiet: bool) -> StderrProgress {
        StderrProgress {
            quiet,
            terminal: screen::obeys_escapes(&io::stderr()),
            drawn: false,
            last: None,
        }
    }

    fn write(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        let text = one_line(text);
        let mut err = io::stderr().lock();
        // Progress that can't be shown is no reason to stop measuring.
        let _ = if self.terminal {
            // A full row wraps, and what is on the row above can't be erased.
            let cells = screen::columns_of(&err).unwrap_or(80).saturating_sub(1);
            let text = terminal::shortened(&text, cells, screen::is_ascii());
            write!(err, "\r\x1b[K{text}")
        } else {
            writeln!(err, "{}", screen::readable(&text))
        };
        let _ = err.flush();
        self.drawn = self.terminal;
    }

    fn due(&mut self) -> bool {
        let every = if self.terminal { DRAW_EVERY } else { PLAIN_EVERY };
        let due = self.last.is_none_or(|last| last.elapsed() >= every);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }

    fn clear(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr(), "\r\x1b[K");
            self.drawn = false;
        }
    }
}

impl Progress for StderrProgress {
    fn stage(&mut self, text: &str) {
        self.write(text);
    }

    fn round(&mut self, status: &Status) {
        if self.due() {
            self.write(&in_words(status));
        }
    }

    fn warning(&mut self, text: &str) {
        self.clear();
        if !self.quiet {
            tell(&format!("warning: {text}"));
        }
    }

    fn done(&mut self) {
        self.clear();
    }
}

/// What a round is of how many, when all are measured, and what of: what is cut off on a narrow terminal comes last.
fn in_words(status: &Status) -> String {
    let Status { now, round, planned, .. } = status;
    let left = status.left.map_or(String::new(), |left| format!(", about {} left", whole(left)));
    let rates = match status.rates {
        None => String::new(),
        Some(1) => " at 1 rate".into(),
        Some(many) => format!(" at {many} rates"),
    };
    let of = planned.map_or(String::new(), |planned| format!(" of {}", planned.max(*round)));
    format!("round {round}{of}{left}: {now}{rates}")
}

/// A time in whole seconds or minutes, never none.
pub fn whole(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_by_rounds_and_is_never_nothing() {
        let status = |left: Option<u64>| Status {
            now: "latency 64 B, same-cpu, process".into(),
            round: 3,
            planned: Some(12),
            rates: None,
            left: left.map(Duration::from_millis),
        };
        assert_eq!(
            in_words(&status(Some(40_000))),
            "round 3 of 12, about 40 s left: latency 64 B, same-cpu, process"
        );
        assert!(in_words(&status(Some(0))).starts_with("round 3 of 12, about 1 s left"));
        assert!(in_words(&status(Some(150_000))).contains("about 3 min left"));
        assert!(in_words(&status(None)).starts_with("round 3 of 12: "));
    }
}
