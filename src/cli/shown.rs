//! `--format`: how a run is shown, and the words for it that each command takes.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::document_output::Script;
use ::report::export::Format;

/// How a run is shown once it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Verdicts and tables, for a person.
    #[default]
    Text,
    /// For another program.
    Exported(Format),
    /// As a document with its figures.
    Written(Script),
}

/// Reads how a study's run is shown: as any run, but its Markdown is the whole document.
pub fn shown_or_written() -> impl TypedValueParser<Value = Shown> {
    let names = Format::names().map(|(name, _)| name);
    let names = ["text", "typst"].into_iter().chain(names);
    PossibleValuesParser::new(names).map(|name| match Script::named(&name) {
        Some(script) => Shown::Written(script),
        None => Format::named(&name).map_or(Shown::Text, Shown::Exported),
    })
}

/// Reads how a stored run is written up.
pub fn text_or_written() -> impl TypedValueParser<Value = Shown> {
    PossibleValuesParser::new(["text", "markdown", "typst"])
        .map(|name| Script::named(&name).map_or(Shown::Text, Shown::Written))
}

/// Reads how a run is shown.
pub fn shown_or_exported() -> impl TypedValueParser<Value = Shown> {
    let names = Format::names().map(|(name, _)| name);
    let names = std::iter::once("text").chain(names);
    PossibleValuesParser::new(names)
        .map(|name| Format::named(&name).map_or(Shown::Text, Shown::Exported))
}

/// A format of `export`.
pub fn exported() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::names().map(|(name, _)| name).collect::<Vec<_>>())
        .map(|name| Format::named(&name).unwrap_or(Format::Json))
}
