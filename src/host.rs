//! The program that loads plug-ins: launches as those of `ipcmark`, of the same crates, but linked with the C library that a
//! plug-in is linked with, which a program without a loader can't be.

use std::process::ExitCode;

fn main() -> ExitCode {
    sys::process::survive_file_size_limit();
    mechanisms::load_by(sys::library::Plugin::load);
    let word = std::env::args_os().nth(1).unwrap_or_default();
    ExitCode::from(match word.to_str() {
        Some("launch") => run::launch::serve() as u8,
        Some(run::plugin::WORD) => run::plugin::serve() as u8,
        _ => {
            eprintln!("ipcmark-host: `ipcmark run --plugin ./FILE` starts it");
            2
        }
    })
}
