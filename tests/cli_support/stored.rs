//! Runs that nobody measured, written through `store`.

use std::path::Path;
use std::sync::OnceLock;

use model::case::Case;
use model::clients::Clients;
use model::counts::Counts;
use model::distinct::distinct;
use model::energy::Energy;
use model::host::Host;
use model::launch::{Outcome, Punctuality, Record};
use model::mechanism::Datagrams;
use model::noise::{RoundNoise, Traffic};
use model::placement::Placement;
use model::placement::ResolvedPlacement;
use model::request::{Request, Stopping};
use model::workload::Workload;
use store::{Closed, NewCase, NewLaunch, NewRun, RunStatus, Store, StoreError};

/// This machine, read once.
static HOST: OnceLock<Host> = OnceLock::new();

/// Rounds of each of its runs.
pub const ROUNDS: u64 = 6;
/// Samples of each launch.
pub const SAMPLES: usize = 40;

pub fn clock() -> model::clock::Record {
    model::clock::Record {
        kind: model::clock::ClockKind::Tsc,
        tsc_unavailable: None,
        cost_ns: 10.0,
        step_ns: 1.0,
        ns_per_tick: 0.5,
        drift_ppm: Some(0.0),
        monotonic_ppm: Some(0.0),
        readings: Vec::new(),
    }
}

fn case(variant: &str, placement: Placement) -> Case {
    let place = match placement {
        Placement::SameCpu => ResolvedPlacement { cpus: Some((0, 0)), ..ResolvedPlacement::FREE },
        _ => ResolvedPlacement::FREE,
    };
    Case { placement, place, ..Case::usual(variant.to_string(), Workload::Latency) }
}

fn here() -> &'static Host {
    HOST.get_or_init(|| machine::host::read(Path::new("/")))
}

fn begin_run(store: &mut Store, request: &Request, host: &Host) -> Result<i64, StoreError> {
    store.begin_run(&NewRun {
        started: "2026-01-01T00:00:00Z".into(),
        tool: "ipcmark 0.1.0",
        argv: &["ipcmark".to_string(), "run".into()],
        request,
        host,
        clock: &clock(),
        peer: None,
        labs: &[],
        catalogue: &mechanisms::catalogue(&request.mechanisms),
        fleet: None,
    })
}

/// Begins a run of two cases on one CPU; gives its number and theirs.
pub fn begin(store: &mut Store) -> Result<(i64, Vec<i64>), StoreError> {
    begin_at(store, Placement::SameCpu)
}

/// As [`begin`], on one CPU or placed freely.
pub fn begin_at(store: &mut Store, placement: Placement) -> Result<(i64, Vec<i64>), StoreError> {
    let request = Request {
        mechanisms: vec!["pipe".into(), "unix-stream".into()],
        workloads: vec![(Workload::Latency, vec![64])],
        stopping: Stopping { launches: Some(ROUNDS), ..Stopping::default() },
        ..Request::default()
    };
    let run = begin_run(store, &request, here())?;
    let made = ["pipe", "unix-stream"].map(|text| case(text, placement));
    let rows: Vec<NewCase> = made
        .iter()
        .enumerate()
        .map(|(nth, case)| NewCase {
            group: 0,
            nth,
            case: case.clone(),
            absence: None,
            ends: None,
            fixed: None,
        })
        .collect();
    let cases = store.add_cases(run, rows)?;
    for case in &cases {
        store.set_pilot(*case, 1, SAMPLES as u64, 4_000.0)?;
    }
    Ok((run, cases))
}

/// Stores a round of it, as a campaign does.
pub fn round(store: &mut Store, run: i64, cases: &[i64], round: u64) -> Result<(), StoreError> {
    round_of(store, run, cases, round, &[8_000, 12_000])
}

/// As [`round`], each case with its round trip, in half nanoseconds.
pub fn round_of(
    store: &mut Store,
    run: i64,
    cases: &[i64],
    round: u64,
    ticks: &[u64],
) -> Result<(), StoreError> {
    let launches: Vec<NewLaunch> = cases
        .iter()
        .zip(ticks)
        .zip(0..)
        .map(|((case, ticks), position)| {
            let sample = |number: u64| ticks + (round * 7 + number * 31) % 97;
            let samples: Vec<u64> = (0..SAMPLES as u64).map(sample).collect();
            let mut record = Record::without_samples(Outcome::Ok);
            record.initiator.batch = 1;
            let median = middle(&samples);
            record.initiator.median_ns = Some(median * clock().ns_per_tick);
            NewLaunch {
                case: *case,
                round,
                position,
                swapped: false,
                padding: 0,
                offset: 0,
                record,
                samples,
            }
        })
        .collect();
    store.add_launches(&launches)?;
    store.add_round(run, 0, round, round * 1_000_000, &RoundNoise::default())
}

/// A complete run of these cases, one group after the other. Each takes another time; what launches may tell beside
/// it, they tell.
pub fn run_of(store: &mut Store, groups: &[Vec<model::case::Case>]) -> Result<i64, StoreError> {
    run_on(store, here(), groups)
}

/// The same, measured on `host`.
pub fn run_on(
    store: &mut Store,
    host: &Host,
    groups: &[Vec<model::case::Case>],
) -> Result<i64, StoreError> {
    let variants = distinct(groups.iter().flatten().map(|group| group.variant.clone()));
    let request = Request {
        mechanisms: variants,
        stopping: Stopping { launches: Some(ROUNDS), ..Stopping::default() },
        ..Request::default()
    };
    let run = begin_run(store, &request, host)?;
    for (group, cases) in groups.iter().enumerate() {
        let rows = cases.iter().enumerate().map(|(nth, case)| NewCase {
            group,
            nth,
            case: case.clone(),
            absence: None,
            ends: None,
            fixed: None,
        });
        let ids = store.add_cases(run, rows)?;
        for id in &ids {
            store.set_pilot(*id, 1, SAMPLES as u64, 4_000.0)?;
        }
        for round in 1..=ROUNDS {
            let launches: Vec<NewLaunch> =
                ids.iter().zip(cases).enumerate().map(|pair| told(round, pair)).collect();
            store.add_launches(&launches)?;
            let noise = RoundNoise {
                idle: Some(Energy { microjoules: 10, ns: 1_000_000 }),
                ..RoundNoise::default()
            };
            let began_ns = (group as u64 * ROUNDS + round) * 1_000_000;
            store.add_round(run, group, round, began_ns, &noise)?;
        }
        store.set_group(run, group, Some(Closed::Launches))?;
    }
    store.end_run(run, RunStatus::Complete, "2026-01-01T00:01:00Z", &clock(), 1_000_000_000)?;
    Ok(run)
}

/// A launch that tells all that a launch may.
fn told(round: u64, (position, (id, case)): (usize, (&i64, &model::case::Case))) -> NewLaunch {
    let samples: Vec<u64> = (0..SAMPLES as u64)
        .map(|nth| 8_000 + 400 * position as u64 + (round * 7 + nth * 31) % 97)
        .collect();
    let mut record = Record::without_samples(Outcome::Ok);
    let counts = [("due_messages", 100), ("lost_messages", 3), ("sent_messages", 100)];
    for end in [&mut record.initiator, &mut record.responder] {
        end.usage.user_ns = 1_000_000;
        end.delivery_counts = counts.map(|(name, count)| (name.to_string(), count)).into();
        end.datagrams = Some(Datagrams { queue_overflows: Some(1), fragments: None });
        let events = [("context-switches".to_string(), 2 * SAMPLES as u64)].into();
        end.counts = case.observe.map(|_| Counts { operations: SAMPLES as u64, events });
    }
    record.traffic = Some(Traffic { sent: Some(200), ..Traffic::default() });
    record.energy = Some(Energy { microjoules: 900, ns: 1_000_000 });
    record.company_ns = case.beside.map(|_| 1_000_000);
    let initiator = &mut record.initiator;
    (initiator.batch, initiator.samples) = (1, SAMPLES as u64);
    (initiator.operations, initiator.first_ns) = (SAMPLES as u64, Some(9_000.0));
    let median = middle(&samples);
    initiator.median_ns = Some(median * clock().ns_per_tick);
    if let Some(load) = case.load.filter(|load| load.has_rate()) {
        initiator.punctuality = Some(Punctuality {
            late: 1,
            median_ns: 100.0,
            max_ns: 900.0,
            due_per_sec: load.per_second as f64,
            served_per_sec: load.per_second as f64,
            deepest: load.depth,
            sender_late: 0,
            held: Some(0),
            idle: Some(0.5),
            tolerance_ns: 10_000.0,
            generators: 1,
        });
        if load.connections > 1 {
            let mut clients = Clients::default();
            for _ in 0..load.connections {
                clients.push(9, (0..10).map(f64::from).collect());
            }
            initiator.clients = Some(clients);
        }
    }
    NewLaunch { case: *id, round, position, swapped: false, padding: 0, offset: 0, record, samples }
}

/// Ends it.
pub fn end(store: &mut Store, run: i64) -> Result<(), StoreError> {
    store.set_group(run, 0, Some(Closed::Launches))?;
    store.end_run(run, RunStatus::Complete, "2026-01-01T00:01:00Z", &clock(), 1_000_000_000)
}

/// A store of `runs` complete runs, the last labelled.
pub fn store_of(path: &Path, runs: usize) {
    let mut store = Store::open(path).expect("a store");
    for nth in 1..=runs {
        let (run, cases) = begin(&mut store).expect("a run");
        store.warn(run, "the machine was busy").expect("a warning");
        (1..=ROUNDS).for_each(|number| round(&mut store, run, &cases, number).expect("a round"));
        if nth == runs {
            store.set_label(run, &"newest".parse().expect("a label")).expect("a label");
        }
        end(&mut store, run).expect("its end");
    }
}

/// The median of samples in any order, in ticks.
fn middle(samples: &[u64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    stats::mid_quantile(&sorted, 0.5)
}
