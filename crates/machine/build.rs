//! Tells the program what it was compiled with, for the record of the machine (`host/build.rs`): the
//! compiler, the target, and the flags that change what the timed loop becomes.

use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let compiler = Command::new(variable("RUSTC")).arg("--version").output();
    let compiler =
        compiler.map(|compiler| String::from_utf8_lossy(&compiler.stdout).trim().to_string());
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    for (name, value) in [
        ("COMPILER", compiler.unwrap_or_default()),
        ("TARGET", variable("TARGET")),
        ("PROFILE", variable("PROFILE")),
        ("OPT_LEVEL", variable("OPT_LEVEL")),
        ("FLAGS", flags),
        ("TARGET_FEATURES", variable("CARGO_CFG_TARGET_FEATURE")),
    ] {
        println!("cargo:rustc-env=IPCMARK_{name}={}", value.replace('\n', " "));
    }
    println!("cargo:rerun-if-changed=build.rs");
}
