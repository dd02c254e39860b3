//! Several connections to one server, in an open loop: by each way in which a server waits, processes and
//! threads. Every message is checked, with a pattern of its own connection's. Then what is refused, and in which
//! words; then the tool: flags, studies, exports, pages.

use std::path::Path;
use std::time::Duration;

use crate::cli_support::strike::{Half, failed_of, kill_in_one_launch, must_have_left_nothing};
use crate::cli_support::{
    Bench, flat, has, list, must_fit_the_schema, number, output, parse, results, say,
};
use crate::common::launching::{conclude, quick, start};
use machine::Topology;
use model::launch::{Clients, Outcome, SampleCount, Workers};
use model::load::{Load, Server, Service};
use model::workload::{Arrivals, Workload};
use run::launch::Spec;
use serde_json::Value;

const CLIENTS: usize = 5;
const SAMPLES: u64 = 300;

/// An open loop of which all messages are due nearly at once, so that connections fill.
fn many(mechanism: &str, server: Server, depth: u32) -> Spec {
    let load = Load {
        per_second: 1_000_000,
        depth,
        connections: CLIENTS as u32,
        server: Some(server),
        ..Load::USUAL
    };
    Spec {
        workload: Workload::Rate,
        load: Some(load),
        samples: SampleCount::Exactly(SAMPLES),
        verify: true,
        ..quick(mechanism, 64)
    }
}

/// What became of the clients of a launch that has to succeed.
fn clients_of(spec: &Spec, what: &str) -> Clients {
    let result = conclude(start(spec));
    assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
    assert_eq!(result.samples.len() as u64, SAMPLES, "{what}");
    assert!(result.samples.iter().all(|ticks| *ticks > 0), "{what}: {:?}", result.samples);
    let report = result.record.initiator;
    let depth = spec.load.expect("a load").depth;
    let deepest = report.punctuality.expect("a schedule").deepest;
    assert!((1..=depth).contains(&deepest), "{what}: {deepest} under way on one connection");
    report.clients.unwrap_or_else(|| panic!("{what}: no clients"))
}

/// Why a launch came to nothing.
fn refusal(spec: &Spec) -> String {
    match conclude(start(spec)).record.outcome {
        Outcome::Failed { reason } | Outcome::NotApplicable { reason } => reason,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
#[ignore = "long form"]
fn every_client_gets_the_answers_to_its_own_messages_and_all_of_them() {
    let sockets = [
        "pipe",
        "fifo",
        "unix-stream",
        "unix-seqpacket",
        "unix-dgram",
        "tcp",
        "eventfd",
        "shm-ring:wait=eventfd",
    ];
    let with = |server| sockets.iter().map(move |socket| (*socket, server));
    let rings = [Server::Scan, Server::Threads].map(|server| ("shm-ring:wait=futex", server));
    for (mechanism, server) in Server::ALL.into_iter().flat_map(with).chain(rings) {
        for (workers, depth) in [(Workers::Process, 1), (Workers::Thread, 4)] {
            let what = format!("{mechanism}, {}, {}", server.name(), workers.name());
            let spec = Spec { workers, ..many(mechanism, server, depth) };
            let clients = clients_of(&spec, &what);
            assert_eq!(clients.due.len(), CLIENTS, "{what}");
            assert_eq!(clients.due.iter().sum::<u64>(), SAMPLES, "{what}");
            for (due, served) in clients.due.iter().zip(&clients.served) {
                assert!(*due > 0 && served <= due, "{what}: {clients:?}");
            }
            assert!(clients.p50_ns.iter().all(|number| number.is_some_and(|ns| ns > 0)), "{what}");
            assert!(clients.p99_ns.iter().all(Option::is_none), "{what}: of 60 messages each");
        }
    }
}

/// They may even share a CPU: only who sends what and when depends on their number.
#[test]
fn a_schedule_over_several_connections_is_never_interrupted() {
    // A worker says where it ran at the beginning of each stretch, and at the end of the last.
    let stretches = |connections| {
        let load =
            Load { connections, server: None, ..many("pipe", Server::Epoll, 1).load.unwrap() };
        let spec = Spec { load: Some(load), ..many("pipe", Server::Epoll, 1) };
        let result = conclude(start(&spec));
        assert_eq!(result.record.outcome, Outcome::Ok, "{connections} connections");
        result.record.initiator.cpus.len() - 1
    };
    assert!(stretches(1) > 1, "one at a time is under way: none is, between two of them");
    assert_eq!(stretches(CLIENTS as u32), 1, "answers would be awaited before what is due is sent");
}

#[test]
fn several_generators_divide_the_connections_and_keep_one_schedule() {
    let topology = Topology::read(Path::new("/")).expect("a topology");
    let allowed = topology.allowed();
    let (a, b) = (allowed[0], allowed[allowed.len() - 1]);
    for (mechanism, server) in
        [("tcp", Server::Epoll), ("unix-stream", Server::Threads), ("shm-ring", Server::Scan)]
    {
        for (cpus, workers, depth) in [
            (&[a, a][..], Workers::Process, 1),
            (&[a, b, a], Workers::Thread, 4),
            (&[b, a, b, a, b, a, b], Workers::Process, 4),
        ] {
            let what = format!("{mechanism}, generators on {cpus:?}");
            let alone = Spec {
                initiator_cpu: Some(a),
                responder_cpu: Some(a),
                workers,
                ..many(mechanism, server, depth)
            };
            let several = Spec { generators: cpus.to_vec(), ..alone.clone() };
            let result = conclude(start(&several));
            assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
            assert_eq!(result.samples.len() as u64, SAMPLES, "{what}");
            assert!(result.samples.iter().all(|ticks| *ticks > 0), "{what}: {:?}", result.samples);
            let report = result.record.initiator;
            let kept = report.punctuality.expect("a schedule");
            assert_eq!(kept.generators as usize, cpus.len().min(CLIENTS), "{what}");
            assert!((1..=depth).contains(&kept.deepest), "{what}: {kept:?}");
            // The draw is the same, whoever sends.
            let clients = report.clients.expect("clients");
            assert_eq!(clients.due, clients_of(&alone, &what).due, "{what}");
            assert!(clients.p50_ns.iter().all(|number| number.is_some_and(|ns| ns > 0)), "{what}");
            // The initiator itself waits for them: what they use is its use.
            let used = report.usage.user_ns + report.usage.system_ns;
            assert!(used > 0, "{what}: {:?}", report.usage);
        }
    }
}

#[test]
#[ignore = "long form"]
fn messages_larger_than_a_connection_holds_come_whole() {
    for server in Server::ALL {
        let spec = Spec { message_bytes: 300_000, ..many("pipe", server, 2) };
        let spec = Spec { samples: SampleCount::Exactly(40), ..spec };
        let result = conclude(start(&spec));
        assert_eq!(result.record.outcome, Outcome::Ok, "{}", server.name());
        assert_eq!(result.samples.len(), 40, "{}", server.name());
    }
}

#[test]
fn clients_are_drawn_by_the_seed_and_take_turns_where_arrivals_are_constant() {
    let due = |seed, arrivals| {
        let spec = Spec { seed, arrivals, ..many("pipe", Server::Epoll, 1) };
        clients_of(&spec, "pipe").due
    };
    assert_eq!(due(7, Arrivals::Poisson), due(7, Arrivals::Poisson));
    assert_ne!(due(7, Arrivals::Poisson), due(8, Arrivals::Poisson));
    assert_eq!(due(7, Arrivals::Constant), [SAMPLES / CLIENTS as u64; CLIENTS]);
}

#[test]
fn one_connection_may_be_served_by_the_same_server() {
    for server in Server::ALL {
        let mut spec = many("unix-stream", server, 1);
        spec.load = spec.load.map(|load| Load { connections: 1, ..load });
        let result = conclude(start(&spec));
        assert_eq!(result.record.outcome, Outcome::Ok, "{}", server.name());
        assert_eq!((result.samples.len() as u64, result.record.initiator.clients), (SAMPLES, None));
    }
}

/// A thread ends with the last request of its connection: it must know how many there are, wherever its worker runs
/// and however requests are spread.
#[test]
fn every_thread_of_a_server_answers_what_comes_over_its_connection() {
    for (cpu, arrivals, connections) in [
        (None, Arrivals::Poisson, 3),
        (Some(0), Arrivals::Poisson, 40),
        (Some(0), Arrivals::Constant, 7),
        (None, Arrivals::Bursts { messages: 10, every_ns: 10_000 }, 7),
    ] {
        let mut spec = many("unix-stream", Server::Threads, 2);
        let service = Service::Fixed(20_000);
        spec.load = spec.load.map(|load| Load { connections, service, ..load });
        let spec = Spec { arrivals, initiator_cpu: cpu, responder_cpu: cpu, ..spec };
        let result = conclude(start(&spec));
        let what = format!("{connections} connections, {arrivals}, on {cpu:?}");
        assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
        let due = result.record.initiator.clients.expect("clients").due;
        assert_eq!((due.len() as u32, due.iter().sum::<u64>()), (connections, SAMPLES), "{what}");
        let responder = result.record.responder;
        let worked = responder.worked.expect("work over requests");
        assert!((19_900.0..20_100.0).contains(&worked.asked_ns), "{what}: {worked:?}");
        // What was spun is in the use of the threads: SAMPLES times 20 µs are 6 ms.
        let used = responder.usage.user_ns + responder.usage.system_ns;
        assert!(used >= 1_000_000, "{what}: {:?}", responder.usage);
    }
}

/// What takes silence for a loss knows how far apart requests are.
#[test]
#[ignore = "long form"]
fn a_rate_at_which_a_connection_idles_for_long_loses_no_datagram() {
    let constant = (8, Arrivals::Constant, 9);
    let bursts = (1, Arrivals::Bursts { messages: 7, every_ns: 700_000_000 }, 8);
    for (connections, arrivals, samples) in [constant, bursts] {
        let mut spec = many("udp", Server::Threads, 1);
        spec.load = spec.load.map(|load| Load { connections, per_second: 10, ..load });
        let spec = Spec { arrivals, samples: SampleCount::Exactly(samples), ..spec };
        assert_eq!(conclude(start(&spec)).record.outcome, Outcome::Ok, "{arrivals}");
    }
}

#[test]
fn the_summaries_of_many_clients_come_through() {
    let mut spec = many("eventfd", Server::Epoll, 1);
    spec.load = spec.load.map(|load| Load { connections: 200, ..load });
    let clients = clients_of(&spec, "200 clients");
    assert_eq!(clients.due.len(), 200);
    assert_eq!(clients.due.iter().sum::<u64>(), SAMPLES);
}

#[test]
fn what_cannot_serve_several_connections_refuses_them_in_words() {
    let asked = refusal(&Spec { others: vec![None], ..many("pipe", Server::Epoll, 1) });
    assert!(asked.contains("generator"), "{asked}");
    let asked = refusal(&Spec { workload: Workload::Latency, ..many("pipe", Server::Epoll, 1) });
    assert!(asked.contains("needs -w rate"), "{asked}");
    has(&refusal(&many("posix-queue", Server::Epoll, 1)), &["posix-queue blocks: "]);
}

/// The result of `variant` over so many connections.
fn of<'a>(document: &'a Value, variant: &str, connections: u64) -> &'a Value {
    let results = results(document);
    let is = |value: &&Value| {
        value["variant"] == variant
            && value["load"]["connections"] == connections
            && value["twin"] == false
    };
    results.iter().find(is).unwrap_or_else(|| panic!("no {variant} at {connections}"))
}

#[test]
fn clients_stand_in_the_export_and_what_cannot_have_them_says_why() {
    let bench = Bench::new();
    bench.must(
        "run pipe tcp shm-ring:wait=futex posix-queue -w rate --rate 5k --connections 1,4 -s 64 -p free \
         --launches 6 --samples 80 --seed 5 --verify",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    for variant in ["pipe", "tcp"] {
        let (one, four) = (of(&document, variant, 1), of(&document, variant, 4));
        assert!(one["clients"].is_null() && one["load"]["server"].is_null(), "{one:#}");
        assert_eq!((&four["status"], &four["samples"]), (&"ok".into(), &480.into()), "{four:#}");
        assert_eq!(four["load"]["server"], "epoll");
        let clients = &four["clients"];
        assert_eq!(clients["clients"], 4, "{clients:#}");
        let number =
            |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number: {clients:#}"));
        let (worst, jain) = (number(&clients["worst_share"]["median"]), &clients["jain"]);
        assert!((0.0..=1.0).contains(&worst), "{clients:#}");
        assert!((0.25..=1.0).contains(&number(&jain["median"])), "{clients:#}");
        assert!(number(&jain["low"]) <= number(&jain["high"]), "{clients:#}");
        assert!(number(&clients["p50_ns"]["median"]) <= number(&clients["p50_ns"]["largest"]));
    }
    let ring = of(&document, "shm-ring:wait=futex", 4);
    assert_eq!(ring["status"], "not_applicable");
    assert!(ring["reason"].as_str().expect("a reason").contains("--server scan"), "{ring:#}");
    let queue = of(&document, "posix-queue", 4);
    assert!(queue["reason"].as_str().expect("a reason").contains(" blocks: "), "{queue:#}");
    let kept = "SELECT count(*) FROM launches
         WHERE json_array_length(record, '$.initiator.clients.served') = 4";
    assert!(number(&bench.open(), kept) >= 12);
    let groups = list(&document["comparisons"]);
    assert!(groups.iter().any(|group| group["load"]["connections"] == 4), "{groups:#?}");
    let launches = bench.must("export last --format launches").out;
    let header = launches.lines().next().unwrap_or_default();
    assert!(header.contains(",asked_per_sec,depth,connections,server,"), "{launches}");
    let four = launches.lines().filter(|line| line.contains(",5000,1,4,epoll,"));
    assert!(four.count() >= 12, "{launches}");
    let found = parse(&bench.run("compare 1 1 --format json").out);
    assert!(found["cases"].as_array().is_some_and(|cases| !cases.is_empty()), "{found:#}");
}

#[test]
fn threads_that_would_spin_on_one_cpu_are_refused_with_the_way_out() {
    let bench = Bench::new();
    bench.must_lack(
        "run shm-ring:wait=spin pipe -w rate --rate 5k --connections 3 --server threads -s 64 -p free --launches 1 \
         --samples 40",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    assert_eq!(of(&document, "pipe", 3)["load"]["server"], "threads");
    let ring = of(&document, "shm-ring:wait=spin", 3);
    assert_eq!(ring["status"], "not_applicable", "{ring:#}");
    has(ring["reason"].as_str().expect("a reason"), &["a variant that blocks"]);
}

#[test]
fn more_connections_than_descriptors_are_refused_before_anything_is_opened() {
    let bench = Bench::new();
    let line = "run pipe noop -w rate --connections 40 -s 64 -p free --launches 1 --samples 20";
    output(&mut bench.after("ulimit -n 64", line));
    let document = bench.export();
    let case = of(&document, "pipe", 40);
    assert_eq!(case["status"], "unavailable", "{case:#}");
    let reason = case["reason"].as_str().expect("a reason");
    has(reason, &["40 connections take 192 descriptors", "the limit on open files is 64"]);
    has(reason, &["ulimit -n 192"]);
}

#[test]
#[ignore = "long form"]
fn a_study_varies_rates_depths_connections_and_answers() {
    let bench = Bench::new();
    let study = "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[fixed]\nworkload = \"rate\"\n\
         mechanism = \"pipe\"\nplacement = \"same-cpu\"\nsamples = 10\nlaunches = 6\n[vary]\n\
         rate = [\"1k\", \"4k\"]\nconnections = \"1,3\"\ndepth = \"1,2\"\nresponse = [\"64\", \"1K\"]\n[variables]\n\
         cause = { connections = \"c\" }\neffect = { response = \"r\" }\n[[hypothesis]]\n\
         statement = \"one client waits less\"\ntest = \"differs\"\n\
         left = { connections = \"1\", rate = \"1k\" }\nright = { connections = \"3\", rate = \"1k\" }\n\
         [[table]]\ntitle = \"Responses\"\nrows = \"rate\"\ncolumns = \"connections\"\n[[figure]]\n\
         title = \"Clients\"\nkind = \"curves\"\nx = \"connections\"\nseries = \"rate\"\n";
    bench.put("s.toml", study);
    let page = flat(&bench.must("study run ./s.toml").out);
    let loads = "SELECT count(DISTINCT levels ->> 'load') FROM cases";
    assert_eq!(number(&bench.open(), loads), 16);
    has(
        &page,
        &[
            "Responses, at most 1 under way, answers of 64 B rate 1 3",
            "Responses, at most 2 under way, answers of 1 KiB rate 1 3",
        ],
    );
    assert!(page.contains("Clients, at most 2 under way, answers of 1 KiB"), "{page}");
    // One client and three at 1,000 a second, with either answer: two pairs, and not the same case four times.
    assert!(page.contains("one client waits less"), "{page}");
    // What others took the time of has no result, and no pair then.
    let lacks = ["late at 1.00 k/s", "serve 1.00 k/s here"].iter().any(|text| page.contains(text));
    if lacks {
        say("skipped the pairs of a claim: others took the time of some");
    } else {
        assert!(!page.contains("no case in common"), "{page}");
    }
    let both = study.replace("samples = 10\n", "samples = 10\nrate = \"1k\"\n");
    bench.put("s.toml", both);
    bench.run("study run ./s.toml").fails(2, &["rate is fixed and varied: choose"]);
}

#[test]
#[ignore = "long form"]
fn a_worker_that_dies_in_the_middle_of_a_run_is_named_and_the_rest_is_reported() {
    for half in [Half::Initiator, Half::Responder] {
        let bench = Bench::new();
        let mut running = bench.begin(
            "run unix-stream pipe -w rate --connections 4 --rate 2k -s 64 -p same-cpu --launches 12 --samples 200",
        );
        kill_in_one_launch(&bench, &mut running, half);
        let said = running.finish(Duration::from_secs(60));
        assert_eq!(said.code, Some(0), "{half:?}: {}", said.err);
        must_have_left_nothing(&bench);
        let document = bench.export();
        must_fit_the_schema(&document);
        let text = flat(&said.out);
        for (mechanism, twin) in [("unix-stream", 0), ("unix-stream", 1), ("pipe", 0)] {
            let (failed, all) =
                failed_of(&bench, mechanism, &format!("levels ->> 'twin' = {twin}"));
            assert_eq!(all, 12, "{mechanism}: every launch has its row");
            let cases = results(&document);
            let is = |value: &&Value| value["variant"] == mechanism && value["twin"] == (twin == 1);
            let case = cases.iter().find(is).expect("a result");
            assert_eq!((&case["status"], &case["failed_launches"]), (&"ok".into(), &failed.into()));
            let again = if twin == 1 { ", again (A/A)" } else { "" };
            let line = format!(
                "! {mechanism}, open loop, 64 B, 2,000 a second, 4 connections by epoll{again}, one CPU: {failed} of \
                 12 launches failed: {} was killed by signal 9",
                half.named()
            );
            assert_eq!(text.contains(&line), failed > 0, "{line}: {}", said.out);
        }
    }
}
