//! The program: parse, dispatch, exit code.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

mod cli;
mod room;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err((line, code)) = room::check() {
        eprintln!("ipcmark: {line}");
        return ExitCode::from(code);
    }
    sys::process::survive_file_size_limit();
    model::tool::built_from(cli::BUILT_FROM);
    // A launch starts a thousand times a run: it doesn't wait for the argument parser.
    if std::env::args_os().nth(1).is_some_and(|word| word == "launch") {
        return ExitCode::from(run::launch::serve() as u8);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == "peer") {
        return ExitCode::from(run::launch::peer::serve() as u8);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == run::launch::peer::keeper::WORD) {
        return ExitCode::from(run::launch::peer::keeper::serve() as u8);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == run::launch::arm::WORD) {
        return ExitCode::from(run::launch::arm::serve() as u8);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == cli::WATCH) {
        return ExitCode::from(cli::watch() as u8);
    }
    cli::main()
}
