//! `ipcmark floor`: the bounds of this machine, each with what it means to a reader.

mod copies;
mod map;
mod page;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::awaited::Awaited;
use super::{Common, Failure, complain, output, print};
use ::report::{html, terminal};
use ::run::campaign::now_utc;
use ::run::floor::{self, Order};
use ::run::launch::Interrupt;
use model::floors::{FloorDetail, Floors};

/// Flags of `floor`.
#[derive(Args)]
pub struct FloorArgs {
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"],
          hide_possible_values = true)]
    format: String,
    /// Only what every run measures at its start, in under 2 s
    #[arg(long)]
    quick: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page with the heat map of cache lines here
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Serialize)]
struct Export<'a> {
    schema_version: u32,
    tool: &'a str,
    measured: String,
    floors: &'a Floors,
}

/// Measures the floors of this machine and shows them.
pub fn floor(common: &Common, args: &FloorArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    super::run::can_measure()?;
    let mut awaited = Awaited::default();
    awaited.file("--html", args.html.as_deref())?;
    awaited.file("-o", args.output.as_deref())?;
    if !common.quiet {
        complain("measuring clocks, kernel calls, cache lines, wake-ups, copying: a few seconds");
    }
    let order = if args.quick {
        Order { extent: FloorDetail::Quick, ..Order::full() }
    } else {
        Order::full()
    };
    let floors = floor::measure(&order, interrupt);
    if let Some(signal) = interrupt.signal() {
        complain("interrupted; nothing was kept");
        return Ok(128 + signal as u8);
    }
    if let Some(path) = &args.html {
        let mut document = page::compose(&floors);
        map::draw(&mut document, &floors);
        write(path, &html::render(&document))?;
    }
    if args.format == "json" {
        let export = Export {
            schema_version: 1,
            tool: model::tool::name(),
            measured: now_utc(),
            floors: &floors,
        };
        let mut text = serde_json::to_string_pretty(&export)
            .map_err(|error| Failure::other(format!("write JSON: {error}")))?;
        text.push('\n');
        match &args.output {
            Some(path) => write(path, &text)?,
            None => print(&text)?,
        }
    } else {
        let document = page::compose(&floors);
        match &args.output {
            Some(path) => write(path, &terminal::render(&document, &terminal::Style::default()))?,
            None => common.show(&document)?,
        }
    }
    if floors.is_empty() {
        complain("nothing could be measured; see the reasons above");
        return Ok(1);
    }
    Ok(0)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    output::write(path, text, "name another file with -o")
}
