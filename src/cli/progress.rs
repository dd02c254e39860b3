//! Progress on standard error: one line that is rewritten on a terminal, plain lines now and
//! then elsewhere. Drawn only while nothing is timed.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use ::run::campaign::{Progress, Reached, Status};
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
        StderrProgress { quiet, terminal: io::stderr().is_terminal(), drawn: false, last: None }
    }

    fn write(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        let text = one_line(text);
        let mut err = io::stderr().lock();
        // Progress that can't be shown is no reason to stop measuring.
        let _ = if self.terminal { write!(err, "\r\x1b[K{text}") } else { writeln!(err, "{text}") };
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
            let left =
                status.left.map_or(String::new(), |left| format!(", {} s left", left.as_secs()));
            let Status { now, round, planned, .. } = status;
            let reached = match status.reached {
                Reached::Precise(few, all) => format!("; {few} of {all} cases precise enough"),
                Reached::Rates(1) => " at 1 rate".into(),
                Reached::Rates(many) => format!(" at {many} rates"),
            };
            self.write(&format!("{now}: round {round} of {planned}{reached}{left}"));
        }
    }

    fn warning(&mut self, text: &str) {
        self.clear();
        if !self.quiet {
            let _ = writeln!(io::stderr(), "warning: {}", one_line(text));
        }
    }

    fn done(&mut self) {
        self.clear();
    }
}
