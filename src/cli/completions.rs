//! `ipcmark completions SHELL`: what the shell needs to complete commands, flags and words.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Cli, Failure, print};

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
    generate(args.shell, &mut Cli::command(), "ipcmark", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
