//! What an open loop carries beside its rate: how messages arrive, how large answers are, and what the server works
//! over each request.

use crate::cli_support::{Bench, flat, has, must_fit_the_schema, of, results, rows, say};

#[test]
fn messages_of_a_burst_are_due_at_once_and_its_rate_is_what_bursts_come_to() {
    let bench = Bench::new();
    let line = "run pipe -w rate -s 64 -p free --arrivals bursts:50@20ms --launches 3 -q";
    bench.must(line);
    let document = bench.export();
    must_fit_the_schema(&document);
    let case = of(&document, "pipe", "process", "free");
    assert_eq!(case["rate"]["arrivals"], "bursts:50@20ms");
    assert_eq!(case["load"]["per_second"], 2_500);
    let samples = case["samples"].as_u64().expect("samples");
    assert!(samples > 0 && samples.is_multiple_of(3 * 50), "whole bursts: {samples}");
    // All but the first of a burst wait for those before it, so that hardly one in fifty is begun when it was due.
    assert!(case["rate"]["late_share"].as_f64() > Some(0.5), "{case:#}");
    let due = "SELECT DISTINCT round(json_extract(record, '$.initiator.punctuality.due_per_sec'))
               FROM launches WHERE round > 0";
    assert_eq!(rows(&bench.open(), due), ["2500"]);
}

#[test]
#[ignore = "long form"]
fn a_server_works_over_each_request_and_says_what_it_took() {
    let bench = Bench::new();
    let line =
        "run pipe tcp -w rate --rate 500 -s 64 -p same-cpu,free --launches 3 --samples 40 -q";
    bench.must(&format!("{line} --service 300us"));
    let fixed = bench.export();
    must_fit_the_schema(&fixed);
    bench.must(&format!("{line} --service exp:200us --depth 4"));
    let drawn = bench.export();
    must_fit_the_schema(&drawn);
    for (document, service, least) in [(&fixed, "300us", 300e3), (&drawn, "exp:200us", 100e3)] {
        for variant in ["pipe", "tcp"] {
            for placement in ["same-cpu", "free"] {
                let case = of(document, variant, "process", placement);
                assert_eq!((&case["status"], &case["samples"]), (&"ok".into(), &120.into()));
                assert_eq!(case["load"]["service"], service);
                let took = case["rate"]["service_took_ns"].as_f64();
                assert!(took >= Some(least), "{case:#}");
            }
        }
    }
    let response = &of(&fixed, "pipe", "process", "free")["value"]["median"];
    assert!(response.as_f64() >= Some(300e3), "the work is in the response: {response}");
    let loads = "SELECT DISTINCT levels ->> '$.load.depth' || ' ' || (levels ->> '$.load.service') FROM cases ORDER BY run";
    assert_eq!(rows(&bench.open(), loads), ["1 300us", "4 exp:200us"]);
    let said = bench.must("report last -v").out;
    assert!(flat(&said).contains("exponential service of 200 µs"), "{said}");
    let found = bench.run("compare 1 2 --format json").out;
    assert!(found.contains("no case of B"), "they are not the same case: {found}");
}

#[test]
#[ignore = "long form"]
fn answers_have_a_size_of_their_own_and_every_byte_of_them_is_theirs() {
    let bench = Bench::new();
    let mechanisms = "pipe unix-stream unix-seqpacket unix-dgram tcp udp pty sysv-queue posix-queue vmsplice splice \
                      process-vm io-uring shm-ring:wait=futex seqlock eventfd";
    for (size, answer, depth) in [(64, 4_096, "1,8"), (4_096, 64, "1,8"), (64, 65, "1")] {
        bench.must_lack(&format!(
            "run {mechanisms} -w rate --rate 2k -s {size} --response {answer} --depth {depth} -p free \
             --launches 2 --samples 20 --verify -q"
        ));
        let document = bench.export();
        must_fit_the_schema(&document);
        for case in results(&document) {
            let (variant, status) = (case["variant"].as_str(), case["status"].as_str());
            match status {
                Some("ok") => {
                    assert_eq!(case["samples"], 40, "{case:#}");
                    assert_eq!(case["message_bytes"], size);
                    assert_eq!(case["load"]["response"], answer);
                }
                Some("not_applicable") => assert!(case["reason"].is_string(), "{case:#}"),
                Some("unavailable") => {
                    let reason = case["reason"].as_str().expect("a reason");
                    say(&format!("skipped {variant:?}: {reason}"));
                }
                other => panic!("{other:?}: {case:#}"),
            }
        }
        let at = |variant: &str| of(&document, variant, "process", "free");
        assert!(["pipe", "tcp", "udp"].iter().all(|text| at(text)["status"] == "ok"));
        has(at("eventfd")["reason"].as_str().expect("a reason"), &["an answer has no size"]);
    }
    let said = bench.must("report last -v").out;
    assert!(flat(&said).contains("answers of 65 B"), "{said}");
    // Larger than a packet is, whoever sends it.
    bench.must_lack(
        "run pipe pipe:mode=packet -w rate -s 64 --response 4097 -p free --launches 2 --samples 5 -q",
    );
    let document = bench.export();
    assert_eq!(of(&document, "pipe", "process", "free")["status"], "ok");
    let refused = of(&document, "pipe:mode=packet", "process", "free");
    assert_eq!(refused["status"], "not_applicable", "{refused:#}");
}

#[test]
fn a_study_fixes_what_belongs_to_a_load() {
    let bench = Bench::new();
    let study = |lines: &str| {
        format!(
            "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[fixed]\nmechanism = \"pipe\"\n\
             workload = \"rate\"\nsize = \"64\"\nplacement = \"same-cpu\"\n{lines}\n\
             samples = 10\nlaunches = 2\n[variables]\ncause = {{ mechanism = \"m\" }}\n\
             effect = {{ response = \"r\" }}\n"
        )
    };
    let run = |lines: &str| {
        bench.put("study.toml", study(lines));
        bench.run("study run ./study.toml -q")
    };
    run("arrivals = \"bursts:10@10ms\"\nresponse = \"4K\"\nservice = \"exp:5us\"").ends(0);
    let db = bench.open();
    let load = "SELECT DISTINCT levels ->> '$.load.response' || ' ' || (levels ->> '$.load.service') FROM cases";
    assert_eq!(rows(&db, load), ["4096 exp:5us"]);
    let arrivals = "SELECT json_extract(request, '$.arrivals') FROM runs";
    assert_eq!(rows(&db, arrivals), ["bursts:10@10ms"]);
    run("rate = \"4k\"\nconnections = \"3\"\nserver = \"poll\"").ends(0);
    let load =
        ["per_second", "connections", "server"].map(|key| format!("levels ->> '$.load.{key}'"));
    let load = format!("SELECT DISTINCT {} FROM cases WHERE run = 2", load.join(", "));
    assert_eq!(rows(&db, &load), ["4000|3|poll"]);
    for (lines, words) in [
        (
            "rate = \"1k\"\narrivals = \"bursts:10@10ms\"",
            "study.toml:9: `bursts:10@10ms` comes to 1000 messages",
        ),
        ("arrivals = \"periodic\"", "study.toml:9: `periodic`: messages arrive as poisson"),
        ("service = \"5\"", "study.toml:9: `5`: write a time up to 1s"),
        ("response = \"0\"", "study.toml:9: size 0 carries nothing"),
        ("rate = \"4x\"", "`4x`: write messages a second"),
        ("server = \"select\"", "`select` is no way for a server to wait"),
    ] {
        run(lines).fails(2, &[words]);
    }
}

#[test]
fn null_shows_the_rate_that_the_sender_keeps_by_itself() {
    let bench = Bench::new();
    bench.must("run noop pipe -w rate --rate 10M -s 64 -p free --launches 3 --samples 400 -q");
    let document = bench.export();
    must_fit_the_schema(&document);
    let [null, pipe] = ["noop", "pipe"].map(|text| of(&document, text, "process", "free"));
    assert_eq!((&null["status"], &null["samples"]), (&"ok".into(), &1_200.into()), "{null:#}");
    let served = |case: &serde_json::Value| case["rate"]["served_per_sec"].as_f64();
    assert!(served(null) > served(pipe), "nothing takes less time than something: {null:#}");
    let said = bench.must("report last -v").out;
    assert!(flat(&said).contains("the rate that the sender keeps by itself"), "{said}");
}

#[test]
#[ignore = "long form"]
fn null_shows_the_ceiling_of_a_generator_of_many_clients_however_their_server_waits() {
    let bench = Bench::new();
    for server in ["epoll", "poll", "scan", "threads"] {
        bench.must(&format!(
            "run noop -w rate --rate 10M --connections 4 --server {server} -p free --launches 3 --samples 400 -q"
        ));
        let document = bench.export();
        must_fit_the_schema(&document);
        let null = of(&document, "noop", "process", "free");
        assert_eq!((&null["status"], &null["samples"]), (&"ok".into(), &1_200.into()), "{null:#}");
        let rate = &null["rate"];
        let idle = rate["generator_idle_share"].as_f64();
        assert!(idle.is_some_and(|value| value < 0.05), "{server}: {rate:#}");
        // The server is asked always: it may have been busy for as long, as far as so short a launch tells.
        assert_ne!(rate["void"], rate["overloaded"], "{rate:#}");
    }
    bench.must("run noop -w rate --depth 4 -p free --launches 3 --samples 400 -q");
    let document = bench.export();
    let null = of(&document, "noop", "process", "free");
    assert_eq!((&null["status"], &null["load"]["depth"]), (&"ok".into(), &4.into()), "{null:#}");
}
