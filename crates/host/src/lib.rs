//! A mechanism of your own in Rust, measured by `ipcmark` as if it were built in: its calls are compiled into the timed loops, and
//! its launches alternate with those of pipes and sockets.
//!
//! ```toml
//! [dev-dependencies]
//! ipcmark-host = "0.1.0"
//!
//! [[bench]]
//! name = "mine"
//! harness = false
//! ```
//!
//! `benches/mine.rs` implements [`Mechanism`] and [`Endpoint`], and ends with `ipcmark_host::main!(Mine);`. Then `cargo bench --bench
//! mine` measures it beside a pipe and a Unix socket; flags of `ipcmark run` follow a `--`. `ipcmark` of the same version is found on
//! the `PATH`, or where `$IPCMARK` says.
//!
//! ```
//! use std::io::{self, Read, Write};
//! use std::os::unix::net::UnixStream;
//!
//! use ipcmark_host::{Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};
//!
//! struct Mine;
//!
//! impl Mechanism for Mine {
//!     const NAME: &'static str = "mine";
//!     const SUMMARY: &'static str = "a Unix socket of the standard library";
//!     const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
//!
//!     fn open<V: Visitor>(_: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
//!         let (near, far) = UnixStream::pair().map_err(OpenError::call("socketpair"))?;
//!         Ok(visitor.visit(Opened::new(End(near), End(far))))
//!     }
//! }
//!
//! struct End(UnixStream);
//!
//! impl Endpoint for End {
//!     fn send(&mut self, message: &[u8]) -> io::Result<()> {
//!         self.0.write_all(message)
//!     }
//!
//!     fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
//!         self.0.read_exact(message)
//!     }
//! }
//! ```

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

pub use mechanisms::{
    Choice, Deadline, Endpoint, Mechanism, Nonblocking, NonblockingCode, OpenError, OpenSpec,
    Opened, OptionSpec, Options, Received, Sent, Visitor,
};
pub use model::mechanism::{Carries, Cause, Framing, Traits, Unavailable, Waits};

/// The variable that says where `ipcmark` is.
const PROGRAM: &str = "IPCMARK";

/// The `main` of a benchmark of one mechanism, a type that implements [`Mechanism`]. Its version and licence are those of the
/// package that it is in.
#[macro_export]
macro_rules! main {
    ($mechanism:ty) => {
        fn main() -> ::std::process::ExitCode {
            $crate::serve::<$mechanism>(env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_LICENSE"))
        }
    };
}

/// What [`main!`] does: says what `M` is, or makes a launch of it, where `ipcmark` asks for that; else starts `ipcmark` to measure it.
pub fn serve<M: Mechanism>(version: &str, licence: &str) -> ExitCode {
    sys::process::survive_file_size_limit();
    let word = std::env::args_os().nth(1).unwrap_or_default();
    ExitCode::from(match word.to_str() {
        Some(model::arm::LAUNCH) => {
            run::hosted::set::<M>();
            run::launch::serve() as u8
        }
        Some(run::plugin::WORD) => run::hosted::describe::<M>(version, licence) as u8,
        _ => measured(),
    })
}

/// Becomes `ipcmark run` of this program, with the flags that were given; gives the exit code where it isn't there.
fn measured() -> u8 {
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| "ipcmark".into());
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => {
            eprintln!("find this program: {error}");
            return 2;
        }
    };
    // Cargo adds it for the harness that there isn't.
    let flags = std::env::args_os().skip(1).filter(|word| word != "--bench");
    let flags: Vec<OsString> = flags.collect();
    let error = Command::new(&program).arg("run").arg("--plugin").arg(own).args(flags).exec();
    eprintln!(
        "start {}: {error}: `cargo install --locked ipcmark`, or say where it is: {PROGRAM}=/path/to/ipcmark",
        program.display()
    );
    2
}
