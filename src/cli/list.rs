//! `ipcmark list`: what this machine offers; what it doesn't, why, and what would enable it.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, Failure, PROGRAM, print, signals};
use ::report::{Block, Document, Emphasis, Row, Section, Table, Text};
use ::run::launch::{Interrupt, Launcher, carries_a_message};
use mechanisms::{MECHANISMS, OpenError, OptionSpec, Variant, probe};
use model::mechanism::{Carries, Cause, Framing, Scope, Unavailable, Waits};

/// Flags of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"],
          hide_possible_values = true)]
    format: String,
}

/// Lists mechanisms and their options.
pub fn list(common: &Common, args: &ListArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let lacking: Vec<String> =
        machine::needs::lacking(Path::new("/")).iter().map(ToString::to_string).collect();
    let launcher = Launcher::new(PROGRAM.into());
    let mut variants = Vec::new();
    for variant in Variant::shown() {
        variants.push(Offered::of(variant, &launcher, interrupt));
        signals::unless_stopped(interrupt)?;
    }
    if args.format == "json" {
        let rows: Vec<Value> = variants.iter().map(Offered::json).collect();
        let answer = json!({ "schema_version": 1, "lacking": lacking, "mechanisms": rows });
        print(&format!("{answer:#}\n"))?;
        return Ok(0);
    }
    let mut document = Document::new("What this machine offers");
    if !lacking.is_empty() {
        let mut section = Section::new("lacking", "Nothing can be measured here");
        section.blocks.extend(lacking.into_iter().map(Block::warning));
        document.sections.push(section);
    }
    document.sections.push(Section::new("mechanisms", "Mechanisms").with(table(&variants)));
    let missing: Vec<Text> = variants.iter().filter_map(Offered::missing).collect();
    if !missing.is_empty() {
        let mut section = Section::new("missing", "Not here");
        section.blocks.push(Block::List(missing));
        document.sections.push(section);
    }
    let mut section = Section::new("options", "Options");
    section.blocks.push(Block::List(options()));
    document.sections.push(section);
    common.show(&document)?;
    Ok(0)
}

/// A variant, and whether it can be had here.
struct Offered {
    variant: Variant,
    obstacle: Option<Unavailable>,
}

impl Offered {
    fn of(variant: Variant, launcher: &Launcher, interrupt: &Interrupt) -> Offered {
        let obstacle = match probe(&variant, 1) {
            // What opens may not carry anything: a filter may deny the call that moves the bytes.
            Ok(()) => carries_a_message(launcher, &variant, interrupt).err(),
            Err(OpenError::Unavailable(why)) => Some(why),
            Err(OpenError::NotApplicable(reason)) => {
                Some(Unavailable { cause: Cause::Other, reason, remedy: "none known".into() })
            }
        };
        Offered { variant, obstacle }
    }

    /// What it is, with its options.
    fn what(&self) -> &'static str {
        self.variant.entry.summary(&self.variant.options)
    }

    /// The same, and what else it is called.
    fn summary(&self) -> String {
        let aliases = self.variant.entry.aliases;
        let is_first = self.what() == self.variant.entry.summary;
        if !is_first || aliases.is_empty() {
            return self.what().into();
        }
        format!("{}; also {}", self.what(), aliases.join(", "))
    }

    fn largest(&self) -> Option<usize> {
        self.variant.entry.largest(&self.variant.options)
    }

    fn carries(&self) -> &'static str {
        let traits = self.variant.traits();
        match (traits.carries, traits.framing) {
            (Carries::Nothing, _) => "nothing",
            (Carries::Own, _) => "its own",
            (Carries::Signal, _) => "wake-up",
            (Carries::Bytes, Framing::Stream) => "stream",
            (Carries::Bytes, Framing::Message) => "messages",
        }
    }

    fn row(&self) -> Row {
        let traits = self.variant.traits();
        let largest = match (traits.carries.has_size(), self.largest()) {
            (true, Some(bytes)) => report::units::size(bytes as u64),
            (true, None) => "any".into(),
            (false, _) => "–".into(),
        };
        let copies = traits.copied().map_or("–".into(), |copies| copies.to_string());
        let scope = match traits.scope {
            Scope::Host => "host",
            Scope::Network => "network",
        };
        let (what, emphasis) = match &self.obstacle {
            None => (self.summary(), Emphasis::Normal),
            Some(why) => (format!("not here: {}", why.cause.name()), Emphasis::Warning),
        };
        let name = Text::new().code(self.variant.to_string());
        Row::new([
            name,
            self.carries().into(),
            largest.into(),
            copies.into(),
            scope.into(),
            what.into(),
        ])
        .emphasis(emphasis)
    }

    fn missing(&self) -> Option<Text> {
        let why = self.obstacle.as_ref()?;
        let (cause, reason, remedy) = (why.cause.name(), &why.reason, &why.remedy);
        Some(
            Text::new()
                .code(self.variant.to_string())
                .plain(format!(": {cause}: {reason}; {remedy}")),
        )
    }

    fn json(&self) -> Value {
        let traits = self.variant.traits();
        json!({
            "variant": self.variant.to_string(),
            "mechanism": self.variant.entry.name,
            "aliases": self.variant.entry.aliases,
            "summary": self.what(),
            "carries": traits.carries,
            "keeps_boundaries": traits.framing == Framing::Message,
            "scope": if traits.scope == Scope::Host { "host" } else { "network" },
            "copies": traits.copied(),
            "largest_message_bytes": self.largest(),
            "waits": match self.variant.waits() {
                Waits::Asleep => "asleep",
                Waits::Yielding => "yielding",
                Waits::Spinning => "spinning",
            },
            "available": self.obstacle.is_none(),
            "unavailable": self.obstacle,
        })
    }
}

fn table(variants: &[Offered]) -> Table {
    Table::new("Name one, with options, in `ipcmark run`")
        .words([("mechanism", 0), ("carries", 0)])
        .numbers([("largest", 1), ("copies", 2)])
        .words([("scope", 3), ("what it is", 0)])
        .rows(variants.iter().map(Offered::row))
}

/// Every option once, with the mechanisms that know it.
fn options() -> Vec<Text> {
    let mut known: BTreeMap<(&str, &str), (&OptionSpec, Vec<&str>)> = BTreeMap::new();
    for entry in MECHANISMS {
        for option in entry.options {
            let row = known.entry((option.name, option.summary)).or_insert((option, Vec::new()));
            row.1.push(entry.name);
        }
    }
    let line = |(option, names): &(&OptionSpec, Vec<&str>)| {
        let size = if option.takes_size { "|SIZE" } else { "" };
        let option_text = format!("{}={}{size}", option.name, option.words.join("|"));
        let of = names.join(", ");
        Text::new().code(option_text).plain(format!(" ({of}): {}", option.summary))
    };
    known.values().map(line).collect()
}
