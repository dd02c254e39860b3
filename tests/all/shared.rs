//! Writers and readers that share a connection: every message is read once, whoever reads it; who was served least is told;
//! what can't be shared says why.

use crate::cli_support::{Bench, flat, has, must_fit_the_schema, results};
use crate::common::launching::{conclude, quick, start};
use model::launch::{Outcome, SampleCount, Workers};
use model::load::Load;
use model::workload::{Policy, Workload};
use run::launch::Spec;

/// Three transfers of some messages over each of so many connections.
fn shared(mechanism: &str, bytes: usize, [connections, writers, readers]: [u32; 3]) -> Spec {
    Spec {
        workload: Workload::Shared,
        load: Some(Load::closed(connections)),
        writers,
        readers,
        samples: SampleCount::Exactly(3),
        batch: 300 * u64::from(connections),
        ..quick(mechanism, bytes)
    }
}

#[test]
fn every_message_is_read_once_by_whichever_reader() {
    let mechanisms =
        ["pipe", "pipe:mode=packet", "fifo", "unix-stream", "unix-seqpacket", "unix-dgram"];
    for mechanism in mechanisms {
        for (workers, bytes, of) in [
            (Workers::Process, 64, [1, 3, 2]),
            (Workers::Thread, 4096, [1, 1, 4]),
            (Workers::Process, 100, [2, 2, 1]),
            (Workers::Thread, 1, [3, 1, 1]),
        ] {
            let what = format!("{mechanism}, {}, {bytes} bytes, {of:?}", workers.name());
            let spec = Spec { workers, ..shared(mechanism, bytes, of) };
            let record = conclude(start(&spec)).record;
            assert_eq!(record.outcome, Outcome::Ok, "{what}");
            let parts = [&record.initiator.parts[..], &record.responder.parts].concat();
            let names: Vec<&str> = parts.iter().map(|part| part.0.as_str()).collect();
            let told = [
                (of[1] > 1, "least_writer"),
                (of[2] > 1, "least_reader"),
                (of[0] > 1, "slowest_connection"),
            ];
            let told: Vec<&str> =
                told.into_iter().filter(|pair| pair.0).map(|pair| pair.1).collect();
            assert_eq!(names, told, "{what}");
            assert!(parts.iter().all(|part| part.1 >= 0.0), "{what}: {parts:?}");
        }
    }
}

/// Messages that come in pieces are counted by their bytes: all of them come, or nobody would end.
#[test]
fn long_messages_of_several_writers_come_by_their_bytes() {
    for (mechanism, payload) in
        [("pipe:capacity=1M", Policy::Untouched), ("unix-stream", Policy::Read)]
    {
        let spec =
            Spec { payload, verify: false, batch: 40, ..shared(mechanism, 64 << 10, [1, 4, 2]) };
        assert_eq!(conclude(start(&spec)).record.outcome, Outcome::Ok, "{mechanism}");
    }
}

#[test]
fn writers_and_readers_are_factors_of_a_run() {
    let bench = Bench::new();
    let said = bench.run(
        "run pipe posix-queue shm-ring -w shared -s 64 --writers 1,2 --readers 1,2 -p free --launches 1 --verify",
    );
    assert_eq!(said.code, Some(5), "two of them can't be shared: {}", said.err);
    let document = bench.export();
    must_fit_the_schema(&document);
    let found: Vec<[u64; 2]> = results(&document)
        .iter()
        .filter(|case| case["variant"] == "pipe" && case["twin"] == false)
        .map(|case| ["writers", "readers"].map(|key| case[key].as_u64().expect("a number")))
        .collect();
    assert_eq!(found, [[1, 1], [1, 2], [2, 1], [2, 2]]);
    has(&flat(&bench.must("report last").out), &["2 writers, 2 readers"]);
    has(&flat(&bench.must("report last -v").out), &["several senders can't share an end of it"]);

    bench.must("run unix-stream -w shared --pairs 2 -p free --launches 1");
    let document = bench.export();
    let case = results(&document).iter().find(|case| case["load"]["connections"] == 2);
    let parts = case.expect("a case")["secondary"].as_array().expect("a list").clone();
    assert!(parts.iter().any(|part| part["name"] == "slowest_connection"), "{parts:?}");
}
