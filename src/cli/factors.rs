//! Flags of the factors that any workload and any mechanism takes, as `model::factor` lists them.

use std::collections::BTreeMap;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::value_parsers::Suggesting;
use model::factor::{FACTORS, Factor, Plain, Row};

/// Levels of each of these factors that are asked for.
#[derive(Clone, Debug, Default)]
pub struct FactorArgs(BTreeMap<String, Vec<String>>);

/// The same of workers alone.
#[derive(Clone, Debug, Default)]
pub struct WorkersArg(pub FactorArgs);

impl FactorArgs {
    /// Levels by the key of their factor, as a request has them.
    pub fn levels(&self) -> BTreeMap<String, Vec<String>> {
        self.0.clone()
    }
}

/// The factors that have a flag here.
pub fn plain() -> impl Iterator<Item = (&'static Row, &'static Plain)> {
    const { &FACTORS }.iter().filter_map(|row| Some((row, row.plain.as_ref()?)))
}

/// The flag of a factor; its values are written in the one way.
pub fn flag(row: &'static Row, plain: &'static Plain) -> Arg {
    let words = move || plain.levels.iter().copied().chain(plain.all).map(str::to_string).collect();
    let parser = StringValueParser::new().try_map(move |word| match plain.all {
        Some(all) if all == word => Ok(word),
        _ => row.factor.level(&word),
    });
    Arg::new(row.key)
        .long(row.key)
        .help(plain.help)
        .value_name(plain.value_name)
        .value_delimiter(',')
        .action(ArgAction::Append)
        .default_value(row.usual)
        .hide_possible_values(true)
        .value_parser(Suggesting { parser, words })
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<FactorArgs, clap::Error> {
        let levels = plain().filter_map(|(row, plain)| {
            let words = matches.try_get_many::<String>(row.key).ok()??;
            let each = words.flat_map(|word| match plain.all {
                Some(all) if all == word => plain.levels.to_vec(),
                _ => vec![word.as_str()],
            });
            let mut levels: Vec<String> = Vec::new();
            for level in each {
                if !levels.iter().any(|known| known == level) {
                    levels.push(level.to_string());
                }
            }
            Some((row.key.to_string(), levels)).filter(|(_, levels)| {
                row.usual != levels.first().map(String::as_str) || levels.len() > 1
            })
        });
        Ok(FactorArgs(levels.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = FactorArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for FactorArgs {
    fn augment_args(command: Command) -> Command {
        command.args(plain().map(|(row, plain)| flag(row, plain)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        FactorArgs::augment_args(command)
    }
}

impl FromArgMatches for WorkersArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<WorkersArg, clap::Error> {
        FactorArgs::from_arg_matches(matches).map(WorkersArg)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for WorkersArg {
    fn augment_args(command: Command) -> Command {
        let of_workers = plain().filter(|(row, _)| row.factor == Factor::Workers);
        command.args(of_workers.map(|(row, plain)| flag(row, plain)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        WorkersArg::augment_args(command)
    }
}
