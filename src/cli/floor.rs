//! `ipcmark floor`: the bounds of this machine, each with what it means to a reader.

mod copies;
mod page;

use std::path::{Path, PathBuf};

use ::report::{Axis, Document, Figure, FigureKind, Point, Scale, Series, Unit, html, terminal};
use ::run::campaign::now_utc;
use ::run::floor::{self, Order};
use ::run::launch::Interrupt;
use clap::Args;
use serde::Serialize;

use super::awaited::Awaited;
use super::{Common, Failure, complain, output, pretty, print};
use model::distinct::ascending;
use model::floors::{FloorDetail, Floors, Repeats};

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
    /// Write a page with the heat map of cache lines to this file
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
    super::exit_codes::can_measure()?;
    let mut awaited = Awaited::beside_store(common);
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
        draw(&mut document, &floors);
        write(path, &html::render(&document))?;
    }
    if args.format == "json" {
        let export = Export {
            schema_version: 1,
            tool: model::tool::name(),
            measured: now_utc(),
            floors: &floors,
        };
        let text = pretty(&export)?;
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

/// Puts the heat map of cache lines into the document, for a page that can draw it.
pub fn draw(document: &mut Document, floors: &Floors) {
    let Ok(found) = floors.line.get() else { return };
    let cpus = ascending(found.pairs.iter().flat_map(|pair| pair.cpus));
    let point = |nth: usize, a: u32, b: u32| {
        let pair = found.pairs.iter().find(|pair| pair.cpus == [a.min(b), a.max(b)]);
        let trip = pair.and_then(|pair| pair.round_trip_ns.get().ok()).and_then(Repeats::lower);
        match trip {
            Some(ns) => Point::new(nth as f64, ns).labelled(format!("{ns:.0}")),
            None if a == b => Point::gap(nth as f64, "one CPU: its own line"),
            None => Point::gap(nth as f64, "not among the pairs measured"),
        }
    };
    let row = |a: &u32| {
        let points = cpus.iter().enumerate().map(|(nth, b)| point(nth, *a, *b));
        Series::new(format!("CPU {a}"), points)
    };
    let mut figure = Figure::new(
        FigureKind::Heatmap,
        "cache-lines",
        "Round trip of a cache line, from CPU to CPU and back",
        "Each cell holds the median in ns, of two modes the quicker. Hatched: not measured. CPUs \
         that are close show as dark squares along the diagonal.",
        Axis::categories("CPU", cpus.iter().map(|cpu| cpu.to_string())),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    figure.series = cpus.iter().map(row).collect();
    if let Some(section) = document.sections.iter_mut().find(|section| section.id == "line") {
        section.blocks.insert(0, figure.into());
    }
}
