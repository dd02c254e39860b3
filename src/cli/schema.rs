//! `ipcmark schema NAME`: the JSON Schema of a document that ipcmark writes, made from the types that are written.

use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::choice::Told;
use super::{Failure, print};
use analysis::Export;
use analysis::compare::RunComparison;
use report::export::ndjson::Event;

/// Flags of `schema`.
#[derive(Args)]
pub struct SchemaArgs {
    /// results, comparison, choice, events
    #[arg(value_name = "NAME", hide_possible_values = true)]
    name: Document,
}

/// A kind of document.
#[derive(Clone, Copy, ValueEnum)]
enum Document {
    Results,
    Comparison,
    Choice,
    Events,
}

/// Prints a schema.
pub fn schema(args: &SchemaArgs) -> Result<u8, Failure> {
    let schema = match args.name {
        Document::Results => of::<Export>("results", "A run"),
        Document::Comparison => of::<RunComparison>("comparison", "Two runs, compared"),
        Document::Choice => of::<Told>("choice", "What to use for a need"),
        Document::Events => of::<Event>("events", "An event, a line of NDJSON"),
    };
    print(&in_lines(&schema))?;
    Ok(0)
}

/// A line for each definition and for each field of the document.
fn in_lines(schema: &Schema) -> String {
    let fields = |of: &Value| {
        let fields = of.as_object().into_iter().flatten();
        let lines: Vec<String> =
            fields.map(|(name, what)| format!("    {}: {what}", Value::from(&**name))).collect();
        format!("{{\n{}\n  }}", lines.join(",\n"))
    };
    let parts = schema.as_object().into_iter().flatten().map(|(name, part)| {
        let part = match name.as_str() {
            "properties" | "$defs" => fields(part),
            _ => part.to_string(),
        };
        format!("  {}: {part}", Value::from(&**name))
    });
    format!("{{\n{}\n}}\n", parts.collect::<Vec<_>>().join(",\n"))
}

fn of<T: JsonSchema>(name: &str, title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".into(), format!("urn:ipcmark:{name}:1").into());
    schema.insert("title".into(), title.into());
    schema
}
