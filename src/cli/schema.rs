//! `ipcmark schema NAME`: the JSON Schema of a document that ipcmark writes. A test makes docs/*.schema.json from the types that
//! are written.

use clap::{Args, ValueEnum};

use super::{Failure, print};

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

impl Document {
    fn text(self) -> &'static str {
        match self {
            Document::Results => include_str!("../../docs/results.schema.json"),
            Document::Comparison => include_str!("../../docs/comparison.schema.json"),
            Document::Choice => include_str!("../../docs/choice.schema.json"),
            Document::Events => include_str!("../../docs/events.schema.json"),
        }
    }
}

/// Prints a schema.
pub fn schema(args: &SchemaArgs) -> Result<u8, Failure> {
    print(args.name.text())?;
    Ok(0)
}

#[cfg(test)]
#[cfg(feature = "schema")]
mod tests {
    use schemars::generate::SchemaSettings;
    use schemars::{JsonSchema, Schema};
    use serde_json::Value;

    use super::super::choice::Told;
    use super::*;
    use analysis::Export;
    use analysis::compare::RunComparison;
    use report::export::ndjson::Event;

    /// A line for each definition and for each field of the document.
    fn in_lines(schema: &Schema) -> String {
        let fields = |schema: &Value| {
            let fields = schema.as_object().into_iter().flatten();
            let lines: Vec<String> = fields
                .map(|(name, what)| format!("    {}: {what}", Value::from(&**name)))
                .collect();
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

    /// To write them anew: `IPCMARK_WRITE=1 cargo test --features schema --bin ipcmark schema`.
    #[test]
    fn the_published_schemas_are_those_of_the_types() {
        for (document, name, schema) in [
            (Document::Results, "results", of::<Export>("results", "A run")),
            (
                Document::Comparison,
                "comparison",
                of::<RunComparison>("comparison", "Two runs, compared"),
            ),
            (Document::Choice, "choice", of::<Told>("choice", "What to use for a need")),
            (Document::Events, "events", of::<Event>("events", "An event, a line of NDJSON")),
        ] {
            let made = in_lines(&schema);
            let path = format!("{}/docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("IPCMARK_WRITE").is_some() {
                std::fs::write(&path, &made).expect("a file of docs/");
                continue;
            }
            let why = "IPCMARK_WRITE=1 cargo test --features schema --bin ipcmark schema";
            assert!(document.text() == made, "{path} is another: {why}");
        }
    }
}
