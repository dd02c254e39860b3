//! The flags of experiments with a question of their own: `explain`, `probe-effect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::RunArgs;
use super::export::ExportFiles;
use super::plugins::PluginArgs;
use super::shown::{Shown, shown_or_exported};
use super::value_parsers::{launches, seed};
use model::duration::budget;
use store::Label;

/// How an experiment with a question of its own (`explain`, `probe-effect`) is bounded, named, shown.
#[derive(Args)]
pub struct OwnArgs {
    /// Launches of each case, unobserved and under each level [default: 12]
    #[arg(long, value_name = "N", value_parser = launches, allow_negative_numbers = true)]
    pub launches: Option<u64>,
    /// Time for measuring, as in 30s or 5m [default: as long as the launches take]
    #[arg(long, value_name = "TIME", visible_alias = "duration", value_parser = budget,
          allow_negative_numbers = true)]
    pub budget: Option<Duration>,
    /// Measure at once, even while another run measures on this machine [default: wait for its end,
    /// two minutes at most]
    #[arg(long)]
    pub no_wait: bool,
    /// Seed of every random choice [default: drawn]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// A name for this run
    #[arg(long, value_name = "NAME")]
    pub label: Option<Label>,
    /// text, json, ndjson, csv, markdown and others, as for `run`
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = shown_or_exported())]
    pub format: Shown,
    /// Write the page with the figures to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write results to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub files: ExportFiles,
    #[command(flatten)]
    pub plugins: PluginArgs,
    /// Refused, with the reason.
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub peer: Option<String>,
}

impl OwnArgs {
    /// Refuses another host: instrumentation sees one.
    ///
    /// # Errors
    /// Why, and the remedy.
    pub fn check_here(&self) -> Result<(), String> {
        match self.peer {
            None => Ok(()),
            Some(_) => {
                Err("--peer: instrumentation sees the workers of one kernel, and half of a \
                            round trip can't be told from a wait: leave it out, or measure with \
                            `ipcmark run --peer 'ssh HOST'`"
                    .into())
            }
        }
    }

    /// Launches of each case where none are named.
    const LAUNCHES: u64 = stats::LEAST_LAUNCHES as u64;

    pub fn launches(&self) -> u64 {
        self.launches.unwrap_or(OwnArgs::LAUNCHES)
    }

    /// The same as flags of `run`, for `mechanisms`.
    pub fn of_run(&self, mechanisms: &[String]) -> RunArgs {
        RunArgs {
            mechanisms: mechanisms.to_vec(),
            budget: self.budget,
            launches: self.launches,
            no_wait: self.no_wait,
            seed: self.seed,
            label: self.label.clone(),
            format: self.format,
            html: self.html.clone(),
            output: self.output.clone(),
            files: self.files.clone(),
            plugins: self.plugins.clone(),
            ..RunArgs::default()
        }
    }
}
