//! `ipcmark completions SHELL`: what the shell needs to complete commands, flags and words.

use clap::builder::Resettable;
use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::{Shell, generate};

use super::value_parsers::every_shown_variant;
use super::{Cli, Common, Failure, print};
use model::visible::visible;
use store::Store;
use study::builtin;

/// Flags of `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish, powershell
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

/// Prints completions for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut with_flags_of_run(Cli::command()), "ipcmark", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Fish {
        script += &words_of_fish();
    }
    print(&script)?;
    Ok(0)
}

/// Without a command the flags of `run` are completed.
fn with_flags_of_run(program: Command) -> Command {
    let run = program.find_subcommand("run").cloned().unwrap_or_default();
    // What they conflict with and require is the business of `run`, where all of that is.
    let alone =
        |arg: &Arg| arg.clone().conflicts_with(Resettable::Reset).requires(Resettable::Reset);
    let flags = run.get_arguments().filter(|arg| !arg.is_positional()).map(alone);
    program.args(flags.collect::<Vec<_>>())
}

/// The words behind commands, which clap leaves out for fish: mechanisms, studies, and what the store holds.
fn words_of_fish() -> String {
    let seen = "__fish_seen_subcommand_from";
    let line = |condition: &str, kind: &str, words: &str| {
        format!("complete -c ipcmark -n \"{seen} {condition}\" {kind}-a \"{words}\"\n")
    };
    let mechanisms = every_shown_variant().join(" ");
    let studies = builtin::all().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let runs = "(ipcmark complete-runs 2>/dev/null)";
    let mut lines = line(&format!("run; and not {seen} study"), "-f ", &mechanisms);
    lines += &line("explain choose fleet", "-f ", &mechanisms);
    // Files are words there, too.
    lines += &line(&format!("study; and {seen} show run"), "", &studies);
    lines += &line("report compare", "", runs);
    lines += &line("export", "-f ", runs);
    lines += &line(&format!("runs; and {seen} rm"), "-f ", runs);
    lines += "complete -c ipcmark -l resume -x -a \"(ipcmark complete-runs 2>/dev/null)\"\n";
    lines
}

/// A line for each run and each label of the store: the word, a tab, what it is.
pub fn runs(common: &Common) -> Result<u8, Failure> {
    let store = Store::open_existing(&common.store_path()?)?;
    let mut lines = String::new();
    for id in store.run_ids()?.into_iter().rev() {
        let Ok(run) = store.run_row(id) else { continue };
        let about = format!("{} {}", run.started, store::command_line(&run.argv));
        let about = visible(&about);
        lines += &format!("{id}\t{about}\n");
        lines.extend(run.label.map(|label| format!("{label}\trun {id}: {about}\n")));
    }
    print(&lines)?;
    Ok(0)
}
