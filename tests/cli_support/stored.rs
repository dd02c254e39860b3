//! Runs that nobody measured, written through `store`.

use std::path::Path;
use std::sync::OnceLock;

use model::bound::RoundBound;
use model::case::Case;
use model::counts::Counts;
use model::distinct::distinct;
use model::energy::Energy;
use model::host::Host;
use model::launch::{Clients, Outcome, Punctuality, Record};
use model::mechanism::Datagrams;
use model::noise::{RoundNoise, Traffic};
use model::peer::PeerRecord;
use model::placement::{Placement, ResolvedPlacement};
use model::request::{Absence, Request, Stopping};
use model::trace::{Calls, Deeds, Firings, Part, Share, Spread, Traced, Trips, Woken};
use model::workload::Workload;
use store::{Closed, Ends, FleetRequest, NewCase, NewLaunch, NewRun, RunStatus, Store, StoreError};

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

fn begin_run(store: &mut Store, made: &Made) -> Result<i64, StoreError> {
    store.begin_run(&NewRun {
        started: "2026-01-01T00:00:00Z".into(),
        tool: "ipcmark 0.1.0",
        argv: &["ipcmark".to_string(), "run".into()],
        request: &made.request,
        host: &made.host,
        clock: &clock(),
        peer: made.peer.as_ref(),
        labs: &[],
        catalogue: &workload::catalogue(&made.request.mechanisms),
        fleet: made.fleet.as_ref(),
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
    let run = begin_run(store, &Made { request, ..Made::here() })?;
    let made = ["pipe", "unix-stream"].map(|variant| case(variant, placement));
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
pub fn run_of(store: &mut Store, groups: &[Vec<Case>]) -> Result<i64, StoreError> {
    Made { groups: groups.to_vec(), ..Made::here() }.write(store)
}

/// A run to be written: what was asked, where, and how it went.
pub struct Made {
    pub host: Host,
    /// With the mechanisms of its cases, where it names none.
    pub request: Request,
    pub groups: Vec<Vec<Case>>,
    /// What isn't measured, and why, in the first group.
    pub absent: Vec<(Case, Absence, &'static str)>,
    pub peer: Option<PeerRecord>,
    pub fleet: Option<FleetRequest>,
    /// Of a fleet, whose case each is, by its group and its place there.
    pub ends: fn(usize, usize) -> Option<Ends>,
    pub rounds: u64,
    /// What each round measured beside its launches.
    pub bounds: Vec<RoundBound>,
    /// Of each launch.
    pub samples: usize,
    /// What an operation of a case takes, by its place in the group.
    pub ticks: fn(&Case, usize) -> u64,
    /// How a launch of a case ends, by its place in the group and its round; None where there is none.
    pub outcome: fn(&Case, usize, u64) -> Option<Outcome>,
    pub status: RunStatus,
}

impl Made {
    /// A complete run of nothing, on this machine.
    pub fn here() -> Made {
        Made::on(here().clone())
    }

    /// The same on `host`.
    pub fn on(host: Host) -> Made {
        let stopping = Stopping { launches: Some(ROUNDS), ..Stopping::default() };
        Made {
            host,
            request: Request { stopping, ..Request::default() },
            groups: Vec::new(),
            absent: Vec::new(),
            peer: None,
            fleet: None,
            ends: |_, _| None,
            rounds: ROUNDS,
            bounds: Vec::new(),
            samples: SAMPLES,
            ticks: |_, nth| 8_000 + 400 * nth as u64,
            outcome: |_, _, _| Some(Outcome::Ok),
            status: RunStatus::Complete,
        }
    }

    /// Writes it; gives its number.
    pub fn write(mut self, store: &mut Store) -> Result<i64, StoreError> {
        if self.request.mechanisms.is_empty() {
            let absent = self.absent.iter().map(|(case, ..)| case);
            let cases = self.groups.iter().flatten().chain(absent);
            self.request.mechanisms = distinct(cases.map(|case| case.variant.clone()));
        }
        let run = begin_run(store, &self)?;
        for (group, cases) in self.groups.iter().enumerate() {
            let absent = self.absent.iter().filter(|_| group == 0);
            let absent = absent.map(|(case, absence, why)| (case, Some((*absence, *why))));
            let rows = cases.iter().map(|case| (case, None)).chain(absent).enumerate();
            let rows = rows.map(|(nth, (case, absence))| NewCase {
                group,
                nth,
                case: case.clone(),
                absence,
                ends: (self.ends)(group, nth),
                fixed: None,
            });
            let ids = store.add_cases(run, rows)?;
            for id in &ids[..cases.len()] {
                store.set_pilot(*id, 1, self.samples as u64, 4_000.0)?;
            }
            for round in 1..=self.rounds {
                let launches = ids.iter().zip(cases).enumerate();
                let launches: Vec<NewLaunch> =
                    launches.filter_map(|launched| self.launch(round, launched)).collect();
                store.add_launches(&launches)?;
                let noise = RoundNoise {
                    idle: Some(Energy { microjoules: 10, ns: 1_000_000 }),
                    bounds: self.bounds.clone(),
                    ..RoundNoise::default()
                };
                let began_ns = (group as u64 * ROUNDS + round) * 1_000_000;
                store.add_round(run, group, round, began_ns, &noise)?;
            }
            if self.status == RunStatus::Complete {
                store.set_group(run, group, Some(Closed::Launches))?;
            }
        }
        store.end_run(run, self.status, "2026-01-01T00:01:00Z", &clock(), 1_000_000_000)?;
        Ok(run)
    }

    fn launch(
        &self,
        round: u64,
        (position, (id, case)): (usize, (&i64, &Case)),
    ) -> Option<NewLaunch> {
        let outcome = (self.outcome)(case, position, round)?;
        let base = (self.ticks)(case, position);
        let sample = |nth| base + (round * 7 + nth * 31) % 97;
        let ok = outcome == Outcome::Ok;
        let samples: Vec<u64> = (0..self.samples as u64).filter(|_| ok).map(sample).collect();
        let record = if ok { told_of(case, &samples) } else { Record::without_samples(outcome) };
        let (swapped, padding, offset) = (false, 0, 0);
        Some(NewLaunch { case: *id, round, position, swapped, padding, offset, record, samples })
    }
}

/// All that a launch may tell.
fn told_of(case: &Case, samples: &[u64]) -> Record {
    let many = samples.len() as u64;
    let mut record = Record::without_samples(Outcome::Ok);
    let counts = [("due_messages", 100), ("lost_messages", 3), ("sent_messages", 100)];
    for (cpu, end) in [&mut record.initiator, &mut record.responder].into_iter().enumerate() {
        end.cpus = vec![cpu as u32];
        end.usage.user_ns = 1_000_000;
        end.delivery_counts = counts.map(|(name, count)| (name.to_string(), count)).into();
        end.datagrams = Some(Datagrams { queue_overflows: Some(1), fragments: None });
        let events = [("context-switches".to_string(), 2 * many)].into();
        let counts = Counts { operations: many, events };
        end.counts = case.observe.and_then(|probe| probe.family()).map(|_| counts);
    }
    record.traffic = Some(Traffic { sent: Some(200), ..Traffic::default() });
    record.energy = Some(Energy { microjoules: 900, ns: 1_000_000 });
    record.trace = case.observe.and_then(|probe| probe.scope()).map(|_| traced(many));
    record.company_ns = case.beside.map(|_| 1_000_000);
    let initiator = &mut record.initiator;
    (initiator.batch, initiator.samples) = (1, many);
    (initiator.operations, initiator.first_ns) = (many, Some(9_000.0));
    let median = middle(samples);
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
    record
}

/// What the kernel did in so many round trips: each worker wrote and read, and slept meanwhile.
fn traced(trips: u64) -> Traced {
    let spread = |each: u64| Spread {
        count: trips,
        total_ns: each * trips,
        longest_ns: 2 * each,
        log2_ns: vec![0, trips],
    };
    let call = |name: &str, each: u64| Calls {
        name: name.into(),
        returned: Some(64),
        count: trips,
        total_ns: each * trips,
        asked_bytes: Some(64 * trips),
    };
    let deeds = Deeds {
        operations: trips,
        window_ns: 5_000 * trips,
        calls: vec![call("read", 3_000), call("write", 1_000)],
        delays: spread(500),
        sleeps: spread(2_000),
        waits: Spread::default(),
        woken: vec![Woken { by_partner: true, from_cpu: 0, to_cpu: 0, count: trips }],
        interrupts: Vec::new(),
        socket: Vec::new(),
    };
    let parts = [(Part::Program, 500.0), (Part::Call, 3_000.0), (Part::Switching, 500.0)];
    let trips = Trips {
        of: trips,
        used: trips / 2,
        mean_ns: 4_000.0,
        parts: parts.map(|(part, ns)| (part, Share { ns, firings: 2.0 })).into(),
        calls: 4.0,
        crossing_ns: Some(100.0),
    };
    let firings = Firings { of_workers: 4 * trips.of, of_others: 0 };
    Traced {
        initiator: deeds.clone(),
        responder: deeds,
        trips: Some(trips),
        firings: [("sched_switch".to_string(), firings)].into(),
        bare_call_ns: 50.0,
        attached_call_ns: 150.0,
        ..Traced::default()
    }
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
