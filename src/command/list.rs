//! `ipcmark list`: what this machine offers; why not, and what would enable it.

use clap::Args;

use super::{Common, Failure};
use crate::mechanism::{Carries, Entry, Framing, MECHANISMS, OpenError, Reach, Variant, probe};
use crate::report::{Block, Column, Document, Emphasis, Row, Section, Table, Text};

/// Flags of `list`.
#[derive(Args)]
pub struct ListArgs {}

/// Lists mechanisms and their options.
pub fn list(common: &Common, _args: &ListArgs) -> Result<u8, Failure> {
    let mut document = Document::new("What this machine offers");
    let mut table = Table {
        caption: "Name one, with options, in `ipcmark run`".into(),
        columns: vec![
            Column::text("mechanism", 0),
            Column::text("carries", 0),
            Column::text("largest", 1),
            Column::text("reach", 2),
            Column::text("what it is", 0),
        ],
        ..Default::default()
    };
    for entry in MECHANISMS {
        table.rows.push(row(entry));
    }
    let mut options = Section::new("options", "Options");
    for entry in MECHANISMS.iter().filter(|entry| !entry.options.is_empty()) {
        let list = entry.options.iter().map(|option| {
            let size = if option.takes_size { "|SIZE" } else { "" };
            Text::new()
                .code(format!("{}:{}={}{size}", entry.name, option.name, option.words.join("|")))
                .plain(format!(": {}", option.summary))
        });
        options.blocks.push(Block::List(list.collect()));
    }
    document.sections.push(Section::new("mechanisms", "Mechanisms").with(table));
    document.sections.push(options);
    common.show(&document)?;
    Ok(0)
}

fn row(entry: &'static Entry) -> Row {
    let variant = Variant { entry, options: Default::default() };
    let largest = match (variant.traits().carries, (entry.largest)(&variant.options)) {
        (Carries::Bytes, Some(bytes)) => crate::report::units::size(bytes as u64),
        (Carries::Bytes, None) => "any".into(),
        _ => "–".into(),
    };
    let carries = match (variant.traits().carries, variant.traits().framing) {
        (Carries::Nothing, _) => "nothing",
        (Carries::Own, _) => "its own",
        (Carries::Signal, _) => "wake-up",
        (Carries::Bytes, Framing::Stream) => "stream",
        (Carries::Bytes, Framing::Message) => "messages",
    };
    let reach = match variant.traits().reach {
        Reach::Host => "host",
        Reach::Network => "network",
    };
    let (what, emphasis) = match probe(&variant, 1) {
        Ok(()) => (Text::from(entry.summary), Emphasis::Normal),
        Err(OpenError::NotApplicable(why)) => (Text::from(why), Emphasis::Muted),
        Err(error) => (Text::from(format!("unavailable: {error}")), Emphasis::Warning),
    };
    let cells = [Text::new().code(entry.name), carries.into(), largest.into(), reach.into(), what];
    Row::new(cells).emphasis(emphasis)
}
