//! The report: one document model, one figure model, several renderers.
//!
//! Nothing here knows where a number comes from. A caller with results builds a
//! [`Document`] (base units, no formatting of numbers inside figures), and a renderer turns
//! it into text for a terminal or into one page that works offline; figures that are printed are
//! drawn by [`svg`]. The renderers share
//! [`units`], so a duration reads the same wherever it is shown.

#![forbid(unsafe_code)]

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

pub mod compose;
mod cpu_pairs;
pub mod document;
pub mod export;
pub mod figure;
pub mod html;
pub mod markdown;
pub mod svg;
pub mod terminal;
pub mod typst;

pub use document::{
    ASIDE, Align, Block, Column, Document, Emphasis, Listing, Row, Run, Section, Table,
    TableOfEach, Target, Text, Value, Verdict,
};
pub use figure::{
    Axis, Drawn, Figure, FigureKind, Mark, Point, Protocol, Scale, Series, Step, VerdictKind,
};
pub use model::units::{self, Unit};
