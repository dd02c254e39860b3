//! Sweeps out of cases: what belongs to a curve, what is said of it, what coincides.

use super::*;
use crate::testing::case;
use model::host::Cache;
use model::launch::Workers;
use model::workload::Workload;

/// A machine with pages of 4 KiB, 48 KiB of L1, 2 MiB of L2 for each CPU.
fn host() -> Host {
    let mut host = Host::default();
    host.memory.page_bytes = 4096;
    let cache = |level, kind: &str, bytes, shared_by: Vec<Vec<u32>>| Cache {
        level,
        kind: kind.into(),
        size_bytes: Some(bytes),
        line_bytes: Some(64),
        shared_by,
    };
    host.caches = vec![
        cache(1, "Data", 48 << 10, vec![vec![0], vec![1]]),
        cache(1, "Instruction", 32 << 10, vec![vec![0], vec![1]]),
        cache(2, "Unified", 2 << 20, vec![vec![0], vec![1]]),
        cache(3, "Unified", 64 << 20, vec![vec![0, 1]]),
    ];
    host
}

/// A sweep from 64 bytes, each size twice the last; beyond `place` a byte costs five times as much.
fn swept(mechanism: &str, count: u32, place: u64) -> Vec<CaseResult> {
    let one = |nth: u32| {
        let bytes = 64u64 << nth;
        let mut case = case(mechanism, "same-cpu", Some((1, 1)));
        crate::testing::redo(&mut case, Workload::Throughput);
        case.message_bytes = Some(bytes);
        let ns = 1000.0 + 0.1 * bytes as f64 + 0.4 * bytes.saturating_sub(place) as f64;
        // Launches differ by up to 1.2 %, sizes of a round by a little.
        let noise = |round: u32| 1.0 + 0.001 * f64::from((round * 7 + nth * 5) % 13);
        case.by_round = (0..12).map(|round| Some(ns * noise(round))).collect();
        case
    };
    (0..count).map(one).collect()
}

fn granting(mut cases: Vec<CaseResult>, name: &str, bytes: u64) -> Vec<CaseResult> {
    for case in &mut cases {
        case.effective_settings.insert(name.into(), bytes);
    }
    cases
}

fn names(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate.name.as_str()).collect()
}

/// What the mechanisms say of themselves.
fn catalogue(cases: &[CaseResult]) -> Catalogue {
    workload::catalogue(cases.iter().map(|case| &case.variant))
}

fn swept_all(cases: &[CaseResult]) -> Vec<Sweep> {
    let host = host();
    sweeps(cases, &catalogue(cases), |_| &host)
}

fn known_of(cases: &[CaseResult]) -> Vec<Candidate> {
    let catalogue = catalogue(cases);
    let bends = &catalogue.variant(&cases[0].variant).expect("a mechanism's name").bends;
    known::candidates(&cases.iter().collect::<Vec<_>>(), bends, &host())
}

fn bytes_of(candidates: &[Candidate], name: &str) -> Option<u64> {
    Some(candidates.iter().find(|candidate| candidate.name == name)?.bytes)
}

#[test]
fn a_break_at_the_pipes_capacity_names_it_and_nothing_of_sockets() {
    let cases = granting(swept("pipe", 15, 65_536), "pipe_capacity_bytes", 65_536);
    let sweeps = swept_all(&cases);
    let [sweep] = &sweeps[..] else { panic!("{sweeps:?}") };
    let [it] = &sweep.inflections[..] else { panic!("{sweep:?}") };
    assert!(it.from_bytes <= 65_536 && 65_536 <= it.to_bytes, "{it:?}");
    assert!(it.to_bytes <= 131_072, "{it:?}");
    assert!((it.ns_per_byte.before / 0.1 - 1.0).abs() < 0.1, "{it:?}");
    assert!((it.ns_per_byte.after / 0.5 - 1.0).abs() < 0.1, "{it:?}");
    assert!(names(&it.candidates).contains(&"pipe capacity, 16 slots"), "{it:?}");
    let foreign =
        |text: &&str| text.contains("buffer") || text.contains("chunk") || text.contains("L2");
    assert!(!names(&it.candidates).iter().any(foreign), "{it:?}");
    assert_eq!((sweep.rounds, &sweep.reason), (12, &None));
}

#[test]
fn where_nothing_is_known_there_is_no_candidate() {
    let cases = swept("process-vm", 15, 300_000);
    let sweeps = swept_all(&cases);
    let [it] = &sweeps[0].inflections[..] else { panic!("{sweeps:?}") };
    assert_eq!(it.best_bytes, [262_144, 524_288]);
    assert_eq!(it.candidates, []);
}

#[test]
fn too_few_sizes_are_a_reason_and_one_is_no_sweep() {
    let few = swept_all(&swept("pipe", 5, u64::MAX));
    assert!(
        few[0].reason.as_deref().is_some_and(|reason| reason.starts_with("5 sizes, 6 are needed"))
    );
    assert_eq!(swept_all(&swept("pipe", 1, u64::MAX)), []);
    let mut short = swept("pipe", 8, u64::MAX);
    short[3].by_round[6..].fill(None);
    let short = swept_all(&short);
    assert_eq!(short[0].rounds, 6);
    assert!(short[0].reason.as_deref().is_some_and(|reason| reason.starts_with("6 rounds")));
}

#[test]
fn a_straight_sweep_has_none_and_no_reason() {
    let straight = swept_all(&swept("pipe", 12, u64::MAX));
    assert_eq!((straight[0].inflections.len(), &straight[0].reason), (0, &None));
}

#[test]
fn curves_are_those_of_one_mechanism_at_one_place() {
    let mut cases = swept("pipe", 8, u64::MAX);
    cases.extend(swept("unix-stream", 8, u64::MAX));
    let mut twins = swept("pipe", 8, u64::MAX);
    twins.iter_mut().for_each(|twin| twin.twin = true);
    cases.extend(twins);
    let mut threads = swept("pipe", 8, u64::MAX);
    threads.iter_mut().for_each(|thread| thread.workers = Workers::Thread);
    cases.extend(threads);
    let found = swept_all(&cases);
    let of: Vec<_> = found.iter().map(|sweep| (sweep.variant.as_str(), sweep.workers)).collect();
    let (process, thread) = (Workers::Process, Workers::Thread);
    assert_eq!(of, [("pipe", process), ("unix-stream", process), ("pipe", thread)]);
}

/// Half of a granted buffer is overhead; AF_UNIX cuts a write at 36,544 bytes, or before half of
/// a smaller buffer.
#[test]
fn buffers_count_whole_and_half() {
    let usual = known_of(&granting(swept("unix-stream", 8, 0), "send_buffer_bytes", 212_992));
    assert_eq!(bytes_of(&usual, "send buffer, with its accounting"), Some(212_992));
    assert_eq!(bytes_of(&usual, "half the send buffer"), Some(106_496));
    assert_eq!(bytes_of(&usual, "chunk of a write"), Some(36_544));
    let small = known_of(&granting(swept("unix-stream", 8, 0), "send_buffer_bytes", 16_384));
    assert_eq!(bytes_of(&small, "chunk of a write"), Some(8_128));
}

/// `buffer=message` grants twice every message: that coincides with all and tells nothing.
#[test]
fn what_follows_the_message_is_no_candidate() {
    let mut cases = swept("unix-dgram", 8, 0);
    for case in &mut cases {
        case.effective_settings.insert("send_buffer_bytes".into(), 2 * case.message_bytes.unwrap());
    }
    assert!(!names(&known_of(&cases)).iter().any(|name| name.contains("buffer")));
}

#[test]
fn each_mechanism_has_its_own() {
    let tcp = granting(swept("tcp", 8, 0), "receive_buffer_bytes", 131_072);
    assert_eq!(bytes_of(&known_of(&tcp), "TCP segment of the MTU"), Some(65_483));
    assert_eq!(bytes_of(&known_of(&tcp), "TCP segment, half the first window"), Some(32_768));
    let udp = granting(swept("udp", 8, 0), "mtu_bytes", 1500);
    assert_eq!(bytes_of(&known_of(&udp), "UDP datagram of the MTU"), Some(1472));
    let mut ring = swept("shm-ring", 8, 0);
    for (case, slots) in ring.iter_mut().zip([64, 64, 64, 32, 16, 8, 4, 4]) {
        case.effective_settings.insert("ring_slots".into(), slots);
    }
    assert_eq!(bytes_of(&known_of(&ring), "the last size with 64 slots"), Some(256));
    assert_eq!(bytes_of(&known_of(&ring), "the first size with 4 slots"), Some(4096));
    let queue = known_of(&swept("posix-queue", 8, 0));
    assert_eq!(bytes_of(&queue, "first piece of a message"), Some(4048));
    assert_eq!(bytes_of(&queue, "half the L2 cache"), Some(1 << 20));
    assert_eq!(bytes_of(&queue, "last-level cache (L3)"), Some(64 << 20));
    assert!(!names(&queue).contains(&"PIPE_BUF"));
}

/// Buffers of a message that share a cache: two of a transfer on one CPU, four of a round trip.
#[test]
fn a_message_has_a_part_of_a_cache() {
    let l2 = |workload: Workload, cpus| {
        let mut cases = swept("pipe", 8, 0);
        for case in &mut cases {
            crate::testing::redo(case, workload);
            case.place.cpus = Some(cpus);
        }
        let known = known_of(&cases);
        names(&known)
            .iter()
            .find(|name| name.ends_with("the L2 cache"))
            .map(|text| text.to_string())
    };
    assert_eq!(l2(Workload::Throughput, (1, 1)).as_deref(), Some("half the L2 cache"));
    assert_eq!(l2(Workload::Latency, (1, 1)).as_deref(), Some("a quarter of the L2 cache"));
    assert_eq!(l2(Workload::Latency, (0, 1)).as_deref(), Some("half the L2 cache"));
    assert_eq!(l2(Workload::Throughput, (0, 1)), None, "each worker's cache has its one buffer");
}

/// What a mechanism declares is stored as text; runs of older builds have none of it.
#[test]
fn what_a_run_keeps_is_what_was_declared() {
    let every: Vec<String> =
        mechanisms::MECHANISMS.iter().map(|mechanism| mechanism.name.to_string()).collect();
    let declared = workload::catalogue(&every);
    let kept = serde_json::to_string(&declared).unwrap();
    assert_eq!(serde_json::from_str::<Catalogue>(&kept).unwrap(), declared);
    let with = declared.variants.iter().filter(|variant| !variant.bends.is_empty()).count();
    assert!(with >= 10 && with < every.len(), "{with}");
    let mut older: serde_json::Value = serde_json::from_str(&kept).unwrap();
    for variant in older["variants"].as_array_mut().unwrap() {
        variant.as_object_mut().unwrap().remove("bends");
    }
    let older: Catalogue = serde_json::from_value(older).unwrap();
    assert!(older.variants.iter().all(|variant| variant.bends.is_empty()));
}
