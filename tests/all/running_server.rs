//! `connect=`: a server that already runs and isn't ours answers. Here it is a thread of the test. Counts agree on both
//! sides, its answers are checked, and whatever is wrong with it is a row with a reason; nothing hangs.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::{Shutdown, listen, shutdown};
use rustix::process::Signal;
use serde_json::Value;

use crate::cli_support::strike::await_store;
use crate::cli_support::{Bench, flat, has, must_fit_the_schema, number, of, results, rows};
use crate::common::launching::{conclude, quick, start};
use model::launch::{Outcome, SampleCount, Workers};
use model::load::{Load, Server as Waits};
use model::workload::Workload;
use run::launch::Spec;
use run::launch::spec::BUILD;
use run::launch::wire::{FrameKind, write_frame};

/// What a server does with what it gets.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    /// Sends it back as it comes.
    Echo,
    /// Sends a message of so many bytes back once all of it is there, behind a length of 4 bytes.
    Frames,
    /// The same, with a length of one more.
    WrongLength,
    /// Sends back each message of so many bytes; in those from this one on a byte is another.
    Flips(usize, u64),
    /// Sends back the message before.
    OneOld(usize),
    /// Reads, and sends nothing back from this message on.
    Stops(usize, u64),
    /// Closes the connection instead of sending this message back.
    Closes(usize, u64),
}

#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    bytes: AtomicU64,
}

struct Server {
    listener: OwnedFd,
    seen: Arc<Seen>,
    accepts: Option<JoinHandle<()>>,
}

impl Server {
    fn at(path: &Path, does: Does) -> Server {
        let listener = UnixListener::bind(path).expect("bind");
        let accepts = listener.try_clone().expect("a descriptor");
        Server::of(listener.into(), does, move || accepts.accept().map(|(stream, _)| stream.into()))
    }

    /// At a loopback address, and that address.
    fn tcp(address: &str, does: Does) -> (Server, String) {
        let listener = TcpListener::bind(address).expect("bind");
        let address = listener.local_addr().expect("an address").to_string();
        let accepts = listener.try_clone().expect("a descriptor");
        let accept = move || accepts.accept().map(|(stream, _)| stream.into());
        (Server::of(listener.into(), does, accept), address)
    }

    fn of(
        listener: OwnedFd,
        does: Does,
        mut accept: impl FnMut() -> io::Result<OwnedFd> + Send + 'static,
    ) -> Server {
        let seen = Arc::new(Seen::default());
        let kept = seen.clone();
        let accepts = thread::spawn(move || {
            thread::scope(|scope| {
                while let Ok(stream) = accept() {
                    kept.connections.fetch_add(1, Relaxed);
                    let seen = &kept;
                    // A stream of either kind is read and written alike.
                    scope.spawn(move || serve(UnixStream::from(stream), does, seen));
                }
            });
        });
        Server { listener, seen, accepts: Some(accepts) }
    }

    /// Waits until every connection is closed; the connections, and the bytes that came over them.
    fn end(mut self) -> (u64, u64) {
        self.close();
        (self.seen.connections.load(Relaxed), self.seen.bytes.load(Relaxed))
    }

    fn close(&mut self) {
        let _ = shutdown(self.listener.as_fd(), Shutdown::Both);
        if let Some(accepts) = self.accepts.take() {
            accepts.join().expect("the server");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

fn serve(mut stream: UnixStream, does: Does, seen: &Seen) {
    let read = |stream: &mut UnixStream, into: &mut [u8]| {
        let whole = stream.read_exact(into).is_ok();
        seen.bytes.fetch_add(into.len() as u64 * u64::from(whole), Relaxed);
        whole
    };
    let mut chunk = vec![0; 4096];
    match does {
        Does::Echo => {
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                seen.bytes.fetch_add(count as u64, Relaxed);
                if stream.write_all(&chunk[..count]).is_err() {
                    return;
                }
            }
        }
        Does::Frames | Does::WrongLength => {
            let mut length = [0; 4];
            while read(&mut stream, &mut length) {
                let bytes = u32::from_be_bytes(length);
                chunk.resize(bytes as usize, 0);
                if !read(&mut stream, &mut chunk) {
                    return;
                }
                let answered = bytes + u32::from(does == Does::WrongLength);
                let answer = [&answered.to_be_bytes()[..], &chunk].concat();
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        }
        Does::Flips(bytes, _)
        | Does::OneOld(bytes)
        | Does::Stops(bytes, _)
        | Does::Closes(bytes, _) => {
            chunk.resize(bytes, 0);
            let mut old = chunk.clone();
            for nth in 0.. {
                if !read(&mut stream, &mut chunk) {
                    return;
                }
                match does {
                    Does::Flips(_, from) if nth >= from => chunk[bytes - 1] ^= 1,
                    Does::OneOld(_) => chunk.swap_with_slice(&mut old),
                    Does::Stops(_, from) if nth >= from => continue,
                    Does::Closes(_, from) if nth >= from => return,
                    _ => {}
                }
                if stream.write_all(&chunk).is_err() {
                    return;
                }
            }
        }
    }
}

fn variant(path: &Path) -> String {
    format!("unix-stream:connect={}", path.display())
}

fn failure(spec: &Spec) -> String {
    let result = conclude(start(spec));
    assert!(result.samples.is_empty(), "it failed, and gave samples");
    match result.record.outcome {
        Outcome::Failed { reason } => reason,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
#[ignore = "long form"]
fn a_server_gets_as_many_messages_as_are_counted_and_its_answers_are_checked() {
    let bench = Bench::new();
    let path = bench.path("echo.sock");
    for (frame, header, does) in [("none", 0, Does::Echo), ("u32", 4, Does::Frames)] {
        for bytes in [1, 64, 4096, 3 << 20] {
            for (workers, address) in [
                (Workers::Process, None),
                (Workers::Thread, Some("127.0.0.1:0")),
                (Workers::Process, Some("[::1]:0")),
            ] {
                if address.is_some_and(|address| TcpListener::bind(address).is_err()) {
                    continue; // no IPv6 here
                }
                let (server, name) = match address {
                    Some(address) => {
                        let (server, at) = Server::tcp(address, does);
                        (server, format!("tcp:connect={at},frame={frame}"))
                    }
                    None => {
                        let _ = std::fs::remove_file(&path);
                        (Server::at(&path, does), format!("{},frame={frame}", variant(&path)))
                    }
                };
                let samples = SampleCount::Exactly(if bytes > 4096 { 2 } else { 20 });
                let result = conclude(start(&Spec { workers, samples, ..quick(&name, bytes) }));
                let record = result.record;
                assert_eq!(record.outcome, Outcome::Ok, "{name}, {bytes}");
                assert!(result.samples.iter().all(|sample| *sample > 0), "{name}, {bytes}");
                let messages = record.initiator.operations;
                let sent = messages * (bytes as u64 + header);
                assert_eq!(server.end(), (1, sent), "{name}, {bytes}: {messages} messages");
                // Whatever ours would have used is none of the server's.
                assert_eq!(record.responder.usage.voluntary_switches, 0, "{name}");
                assert!(record.responder.cpus.is_empty(), "{name}");
            }
        }
    }
}

#[test]
fn several_connections_and_messages_are_under_way_by_a_schedule() {
    let bench = Bench::new();
    for (frame, does) in [("none", Does::Echo), ("u32", Does::Frames)] {
        for (depth, connections) in [(1, 1), (8, 1), (1, 3), (4, 3)] {
            let path = bench.path(&format!("{frame}-{depth}-{connections}.sock"));
            let server = Server::at(&path, does);
            let load = Load {
                per_second: 1_000_000, // all are due nearly at once
                depth,
                connections,
                server: (connections > 1).then_some(Waits::Epoll),
                ..Load::USUAL
            };
            let spec = Spec {
                workload: Workload::Rate,
                load: Some(load),
                samples: SampleCount::Exactly(100),
                ..quick(&format!("{},frame={frame}", variant(&path)), 64)
            };
            let result = conclude(start(&spec));
            assert_eq!(result.record.outcome, Outcome::Ok, "{frame}, {load:?}");
            assert_eq!(result.samples.len(), 100);
            assert_eq!(server.end().0, u64::from(connections));
        }
    }
}

#[test]
fn what_isnt_an_echo_is_found_before_anything_is_timed() {
    let bench = Bench::new();
    for (nth, (does, frame, words)) in [
        (Does::Flips(64, 0), "none", "something else than message 0, from byte 63 on"),
        (Does::Flips(64, 2), "none", "something else than message 1, from byte 63 on"),
        (Does::OneOld(64), "none", "something else than message 0, from byte 0 on"),
        (Does::WrongLength, "u32", "answered 64 bytes with a length of 65"),
        (Does::Echo, "none", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let path = bench.path(&format!("{nth}.sock"));
        let server = Server::at(&path, does);
        let spec =
            Spec { verify: false, ..quick(&format!("{},frame={frame}", variant(&path)), 64) };
        if words.is_empty() {
            assert_eq!(conclude(start(&spec)).record.outcome, Outcome::Ok);
            continue;
        }
        let reason = failure(&spec);
        assert!(reason.starts_with("initiator: the server ") && reason.contains(words), "{reason}");
        let (_, bytes) = server.end();
        assert!(bytes <= 3 * 68, "{words}: {bytes} bytes");
    }
}

#[test]
fn every_message_is_checked_where_that_is_asked() {
    let bench = Bench::new();
    let path = bench.path("s");
    let _server = Server::at(&path, Does::Flips(64, 20));
    let unchecked = Spec { verify: false, ..quick(&variant(&path), 64) };
    assert_eq!(conclude(start(&unchecked)).record.outcome, Outcome::Ok);
    let reason = failure(&quick(&variant(&path), 64));
    // The first message and two of the check were before those that are counted.
    assert!(reason.contains("something else than message 17, from byte 63 on"), "{reason}");
}

#[test]
#[ignore = "long form"]
fn a_server_that_gives_no_answer_is_named_and_none_is_waited_for() {
    let bench = Bench::new();
    for (does, frame, words) in [
        (Does::Stops(64, 0), "none", "0 of 64 bytes came back from the server"),
        // It waits for as many bytes as the first four say.
        (Does::Frames, "none", "0 of 64 bytes came back from the server"),
        (Does::Stops(64, 1), "none", "0 of 64 bytes came back from the server"),
        (Does::Closes(64, 0), "none", "the server closed the connection"),
        (Does::Closes(64, 10), "none", "the server closed the connection"),
        (Does::Stops(64, 10), "none", "deadline passed: no word from the initiator"),
    ] {
        let path = bench.path("s");
        let _ = std::fs::remove_file(&path);
        let server = Server::at(&path, does);
        let name = format!("{},frame={frame}", variant(&path));
        let reason = failure(&Spec { deadline_ms: 1_500, ..quick(&name, 64) });
        assert!(reason.contains(words), "{words}: {reason}");
        drop(server);
    }
}

#[test]
fn a_server_that_doesnt_accept_is_unavailable() {
    let bench = Bench::new();
    let path = bench.path("s");
    let listener = UnixListener::bind(&path).expect("bind");
    listen(&listener, 0).expect("listen");
    let _takes_the_one_place = UnixStream::connect(&path).expect("connect");
    let result = conclude(start(&quick(&variant(&path), 64)));
    match result.record.outcome {
        Outcome::Unavailable(why) => assert!(why.reason.contains("not accepted within"), "{why:?}"),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn where_no_server_is_a_row_says_so() {
    let bench = Bench::new();
    let dead = bench.path("dead");
    drop(UnixListener::bind(&dead).expect("bind"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let names = [
        variant(&bench.path("absent")),
        variant(&dead),
        variant(Path::new("/dev/null/s")),
        format!("tcp:connect={port}"),
    ];
    let line =
        format!("run pipe {} -w latency -s 64 -p free --launches 2 --samples 10", names.join(" "));
    let said = bench.must_lack(&line);
    let document = bench.export();
    assert_eq!(of(&document, "pipe", "process", "free")["status"], "ok");
    for name in names {
        let case = of(&document, &name, "process", "free");
        assert_eq!(case["status"], "unavailable", "{case:#}");
        has(case["reason"].as_str().unwrap(), &["connect to", "start it"]);
    }
    assert!(flat(&said.out).contains("start it, then run again"), "{}", said.out);
}

#[test]
fn another_host_names_no_server_of_this_one() {
    let bench = Bench::new();
    let path = bench.path("s");
    let server = Server::at(&path, Does::Echo);
    let mut peer = bench.command(["peer"]);
    let mut peer = peer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("an agent");
    let (mut to, mut from) = (peer.stdin.take().unwrap(), peer.stdout.take().unwrap());
    let hello = serde_json::json!({ "build": BUILD }).to_string();
    write_frame(&mut to, FrameKind::Hello, hello.as_bytes()).unwrap();
    let spec = serde_json::to_vec(&quick(&variant(&path), 64)).unwrap();
    let begin = [&1u32.to_le_bytes()[..], &0u32.to_le_bytes(), &spec].concat();
    write_frame(&mut to, FrameKind::Begin, &begin).unwrap();
    let (mut said, mut chunk) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&said).contains("is refused") {
        let count = from.read(&mut chunk).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&chunk[..count]);
    }
    drop(to);
    peer.wait().unwrap();
    assert_eq!(server.end(), (0, 0));
}

#[test]
#[ignore = "long form"]
fn what_a_server_has_no_part_in_is_not_applicable() {
    let bench = Bench::new();
    let path = bench.path("s");
    let _server = Server::at(&path, Does::Echo);
    let name = variant(&path);
    let not_applicable = |line: &str, words: &[&str]| {
        bench.run(&format!("run pipe {line} -p free --launches 2 --samples 5"));
        let document = bench.export();
        let own: Vec<&Value> =
            results(&document).iter().filter(|case| case["variant"] != "pipe").collect();
        assert_eq!(own.len(), words.len(), "{line}");
        for (case, words) in own.into_iter().zip(words) {
            assert_eq!(case["status"], "not_applicable", "{line}: {case:#}");
            has(case["reason"].as_str().unwrap(), &[words]);
        }
    };
    let workloads = "has latency, rate and capacity";
    not_applicable(
        &format!("{name} -w throughput,duplex,connect,fan-out,messaging,shared -s 64"),
        &[workloads; 6],
    );
    not_applicable(&format!("{name} -w latency -s 64 --payload written"), &["--payload"]);
    let rate = format!("{name} -w rate --rate 1k -s");
    not_applicable(&format!("{rate} 64 --response 128"), &["--response"]);
    not_applicable(&format!("{rate} 64 --service 5us"), &["--service"]);
    not_applicable(&format!("{rate} 64 --connections 2 --server threads"), &["--server"]);
    not_applicable(&format!("{rate} 128K --depth 4"), &["at most 65536 bytes"]);
    not_applicable(
        &format!("{name},bind=path {name},wiring=self unix-stream:frame=u32 -w latency -s 64"),
        &["leave out bind=", "leave out wiring=", "add connect="],
    );
}

#[test]
#[ignore = "long form"]
fn the_name_of_a_server_is_the_same_wherever_it_stands() {
    let bench = Bench::new();
    let path = bench.path("a=b:c.sock");
    let server = Server::at(&path, Does::Echo);
    let name = variant(&path);
    let line = format!("run pipe {name} -w latency -s 64 -p free --samples 100 --launches");
    let mut running = bench.begin(&format!("{line} 20"));
    await_store(&bench, &mut running, "SELECT count(*) > 4 FROM launches WHERE round > 0");
    running.signal(Signal::INT);
    assert_eq!(running.finish(Duration::from_secs(30)).code, Some(130));
    bench.must("run --resume");
    bench.must(&format!("{line} 20"));
    let db = bench.open();
    assert_eq!(rows(&db, "SELECT DISTINCT status FROM runs"), ["complete"]);
    let kept = "SELECT count(*) FROM cases WHERE levels ->> 'variant' LIKE 'unix-stream:connect=%a=b:c.sock'";
    assert!(number(&db, kept) >= 2);
    for run in ["1", "2"] {
        let document = bench.export_of(run);
        must_fit_the_schema(&document);
        let case = of(&document, &name, "process", "free");
        assert_eq!((&case["status"], &case["launches"]), (&"ok".into(), &20.into()), "{case:#}");
        assert!(case["cpu_ns_per_operation"].is_null(), "the server's is unknown: {case:#}");
        assert!(case["observed_placement"].is_null(), "{case:#}");
    }
    let report = flat(&bench.must("report 1 --html page.html").out);
    assert!(report.contains("its CPU and its CPU time are unknown"), "{report}");
    has(&bench.read("page.html"), &["a placement is that of the client alone"]);
    for format in ["csv", "ndjson", "bmf", "markdown"] {
        let said = bench.must(&format!("export 1 --format {format}"));
        assert!(said.out.contains(&name), "{format}: {}", said.out);
    }
    has(&bench.must("compare 1 2").out, &["a=b:c.sock"]);
    // Its results are kept, and read without it.
    drop(server);
    bench.must("report 1");
}
