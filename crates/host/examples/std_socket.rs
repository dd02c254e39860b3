//! A Unix socket by way of the standard library: `cargo run --release -p ipcmark-host --example std_socket`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use ipcmark_host::{
    Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor,
};

struct StdSocket;

impl Mechanism for StdSocket {
    const NAME: &'static str = "std-socket";
    const SUMMARY: &'static str = "a Unix socket of Rust's standard library";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);

    /// Before the workers are forked: both ends are here, and each worker keeps one.
    fn open<V: Visitor>(_: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let (near, far) = UnixStream::pair().map_err(OpenError::call("socketpair"))?;
        Ok(visitor.visit(Opened::new(End(near), End(far))))
    }
}

struct End(UnixStream);

impl Endpoint for End {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.write_all(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.0.read_exact(message)
    }
}

ipcmark_host::main!(StdSocket);
