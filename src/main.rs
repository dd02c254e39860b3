//! The program: parse, dispatch, exit code.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

mod cli;
mod room;

use std::ffi::OsStr;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err((line, code)) = room::check() {
        eprintln!("ipcmark: {line}");
        return ExitCode::from(code);
    }
    sys::process::survive_file_size_limit();
    model::tool::built_from(cli::BUILT_FROM);
    // A launch starts a thousand times a run: it doesn't wait for the argument parser.
    let word = std::env::args_os().nth(1);
    let serve: fn() -> i32 = match word.as_deref().and_then(OsStr::to_str) {
        Some("launch") => run::launch::serve,
        Some("peer") => run::launch::peer::serve,
        Some(run::launch::peer::keeper::WORD) => run::launch::peer::keeper::serve,
        Some(run::launch::arm::WORD) => run::launch::arm::serve,
        Some(cli::WATCH) => cli::watch,
        _ => return cli::main(),
    };
    ExitCode::from(serve() as u8)
}
