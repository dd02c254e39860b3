//! Every exit code of every command: what the manual, the help and docs/COMPARE.md say of them.

use std::path::Path;

use super::Failure;

/// Nobody reads standard output any more: that of a program that SIGPIPE ends.
pub const CLOSED: u8 = 128 + 13;
/// Added by `compare --bisect` to the code of what failed: git ends a bisection there.
pub const BISECT_FAILED: u8 = 128;
/// What `git bisect run` takes for undecided.
pub const BISECT_SKIP: u8 = 125;

/// Where a mechanism, or a size or a place of one, that was asked for isn't there.
pub const UNAVAILABLE: u8 = 5;

/// A code, and where it means that.
pub struct ExitCode {
    pub code: &'static str,
    /// The commands, as they are typed; none where it is every one.
    pub of: &'static [&'static str],
    pub meaning: &'static str,
}

const fn every(code: &'static str, meaning: &'static str) -> ExitCode {
    ExitCode { code, of: &[], meaning }
}

pub const ALL: [ExitCode; 24] = [
    every("0", "Done."),
    every("1", "Failed: one line on standard error gives the reason and the remedy."),
    ExitCode { code: "1", of: &["choose"], meaning: "Nothing qualifies." },
    ExitCode {
        code: "1",
        of: &["run", "ab", "report", "explain"],
        meaning: "There are no results: nothing could be measured.",
    },
    ExitCode {
        code: "1",
        of: &["runs", "runs --html", "runs --check"],
        meaning: "Something in the store is damaged.",
    },
    ExitCode {
        code: "1",
        of: &["clean"],
        meaning: "Something that was left behind could not be removed.",
    },
    ExitCode { code: "1", of: &["engine check"], meaning: "A check failed." },
    ExitCode {
        code: "1",
        of: &["compare --bisect"],
        meaning: "A case is slower by more than the gate: bad.",
    },
    every("2", "A wrong command line, a run that doesn't exist, or a store that can't be used."),
    ExitCode {
        code: "3",
        of: &["compare --gate"],
        meaning: "A case is slower by more than the gate.",
    },
    ExitCode {
        code: "3",
        of: &["run --gate", "ab --gate"],
        meaning: "A case is slower than in the run that --against names, or than under the first arm, by more than the gate.",
    },
    ExitCode { code: "3", of: &["study run --gate"], meaning: "A claim is refuted." },
    ExitCode { code: "4", of: &["compare"], meaning: "Nothing could be compared." },
    ExitCode {
        code: "4",
        of: &["compare --gate"],
        meaning: "No case is slower, but some are undecided.",
    },
    ExitCode {
        code: "4",
        of: &["run --gate", "ab --gate"],
        meaning: "No case is slower by more than the gate, but some are undecided.",
    },
    ExitCode {
        code: "4",
        of: &["study run --gate"],
        meaning: "No claim is refuted, but some are not supported.",
    },
    ExitCode { code: "4", of: &["choose"], meaning: "Undecided: some mechanisms might qualify." },
    ExitCode {
        code: "5",
        of: &["run", "ab", "study run", "explain", "choose"],
        meaning: "A requested mechanism, size or placement is not available here, or a plug-in fails.",
    },
    ExitCode {
        code: "5",
        of: &["run", "study run", "report"],
        meaning: "A PDF was asked for, and there is no Typst compiler.",
    },
    ExitCode {
        code: "125",
        of: &["compare --bisect"],
        meaning: "Undecided: git skips the commit.",
    },
    ExitCode {
        code: "128 and more",
        of: &["compare --bisect"],
        meaning: "Failed, 128 more than elsewhere: git ends the bisection.",
    },
    every(
        "129, 130, 143",
        "Ended by SIGHUP, SIGINT or SIGTERM, unless it was started to ignore them: cleanly, within \
         two seconds, however many signals come; everything is stored.",
    ),
    every("141", "Standard output was closed early, as by `| head`; what was measured is stored."),
    ExitCode { code: "any", of: &["lab exec"], meaning: "The exit code of the command." },
];

/// The codes that say something of one command, with its flags or without: those of every command last.
pub fn of(command: &str) -> impl Iterator<Item = &'static ExitCode> {
    ALL.iter().filter(move |code| code.of.iter().any(|meant| is_of(meant, command)))
}

/// Whether `typed`, as in `study run --gate`, is of the command `study run`.
fn is_of(typed: &str, command: &str) -> bool {
    typed.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(" --"))
}

impl ExitCode {
    /// `compare --gate: A case is slower …`.
    pub fn sentence(&self) -> String {
        match self.of {
            [] => self.meaning.to_string(),
            of => format!("{}: {}", of.join(", "), self.meaning),
        }
    }
}

/// Exit code 5, by name, where no launch can be made.
pub fn can_measure() -> Result<(), Failure> {
    let lacking = machine::needs::lacking(Path::new("/"));
    let lines: Vec<String> = lacking.iter().map(ToString::to_string).collect();
    match lines.as_slice() {
        [] => Ok(()),
        lines => Err(Failure {
            line: format!("nothing can be measured here: {}", lines.join("; ")),
            code: UNAVAILABLE,
        }),
    }
}

/// What stands in the help of a command beside its examples.
pub fn in_help(command: &str) -> String {
    let line = |code: &ExitCode| {
        let flag = code
            .of
            .iter()
            .find_map(|meant| meant.strip_prefix(command).filter(|_| is_of(meant, command)));
        let flag = flag.map(str::trim).filter(|flag| !flag.is_empty());
        let with = flag.map_or(String::new(), |flag| format!("with {flag}: "));
        format!("  {}\n      {with}{}\n", code.code, code.meaning)
    };
    let lines: String = of(command).map(line).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nExit codes beside 0, 1 (failed), 2 (usage):\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::compare::{INCONCLUSIVE, REGRESSION};

    #[test]
    fn the_codes_that_the_program_returns_are_in_the_table() {
        for (command, code) in [
            ("compare", REGRESSION),
            ("compare", INCONCLUSIVE),
            ("compare", BISECT_SKIP),
            ("study run", REGRESSION),
            ("study run", INCONCLUSIVE),
            ("choose", 1),
            ("choose", INCONCLUSIVE),
            ("run", UNAVAILABLE),
        ] {
            assert!(
                of(command).any(|exit_code| exit_code.code == code.to_string()),
                "{command}: {code}"
            );
        }
        assert!(ALL.iter().any(|code| code.code == CLOSED.to_string()));
    }

    #[test]
    fn a_document_has_every_code_that_the_table_has() {
        let text = include_str!("../../docs/COMPARE.md");
        for code in of("compare") {
            let row = format!("| {} | {} |", code.code, code.sentence());
            assert!(text.contains(&row), "docs/COMPARE.md lacks this row:\n{row}");
        }
    }
}
