//! Network namespaces of a test, by the names that ip-netns(8) gives them.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Does something in a thread that is in that network; its sockets stay there.
pub fn inside<T: Send>(name: &str, action: impl FnOnce() -> T + Send) -> T {
    let space = File::open(format!("/run/netns/{name}")).expect("the namespace");
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(space.as_fd(), kind).expect("enter the namespace");
            action()
        });
        inside.join().expect("what is done inside")
    })
}

/// Has it lose the datagrams that come and that nft's words choose; false without nft.
pub fn lose(name: &str, which: &str) -> bool {
    let rules = format!(
        "table inet t {{ chain c {{ type filter hook input priority 0; \
         meta l4proto udp {which} counter drop; }}\n}}\n"
    );
    let mut nft = Command::new("ip");
    nft.args(["netns", "exec", name, "nft", "-f", "-"]);
    nft.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().is_ok_and(|mut nft| {
        let written = nft.stdin.take().expect("a pipe").write_all(rules.as_bytes());
        nft.wait().is_ok_and(|status| status.success()) && written.is_ok()
    })
}
