//! Fidelity: does the tool report what a program pays?
//!
//! Launches of the real program over runs of a plain C program (`ping_pong.c`, compiled here): two processes that call
//! the C library, message by message, and read the clock twice in all. Both are set up, left alone, warmed up and timed
//! alike, for as many round trips; a round holds one of each for every mechanism, in one random order.
//!
//! Whatever sleeps across CPUs is timed after the quiet that the program's own pilot finds.
//!
//! A gate holds (`ok`) where the ratio's whole 95 % interval lies inside of it, and is missed where all of it lies above
//! (`OVER`) or below (`UNDER`). Where an end of the gate lies inside of the interval, these launches can't tell: `open`.
//!
//! `cargo bench --bench fidelity [-- --quick] [MECHANISM…]`. Exit code 1 when a gate is missed or something failed, 4
//! when one stays open. Skipped where there is no C compiler.

mod common;

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use model::alignment::Alignment;
use model::launch::Warmup;
use model::placement::Placement;
use run::campaign::lasting_ns;
use run::launch::{Interrupt, Launch, Launcher, Spec, Stage};
use stats::{Comparison, compare_paired, two_modes};

use common::{Machine, SEED, ratio};

const MECHANISMS: [&str; 7] =
    ["pipe", "unix-stream", "tcp", "eventfd", "futex", "sysv-queue", "posix-queue"];
/// Between which a ratio must lie: pinned to one CPU, and across.
const GATE_ONE_CPU: [f64; 2] = [0.97, 1.03];
const GATE_ACROSS: [f64; 2] = [0.95, 1.05];
/// Rounds, quickly and else.
const QUICK: usize = 24;
const WHOLE: usize = 200;
/// Rounds that are set up together.
const TOGETHER: usize = 3;
/// Round trips of the C program that tell how many a launch has.
const PILOT: u64 = 1_000;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ping_pong.c");

/// The C program, compiled into `folder`; None where there is no compiler.
fn compile(folder: &Path) -> io::Result<Option<PathBuf>> {
    let program = folder.join("ping_pong");
    let mut cc = Command::new("cc");
    match cc.args(["-O2", "-o"]).arg(&program).args([SOURCE, "-lrt"]).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(status) if status.success() => Ok(Some(program)),
        Ok(status) => Err(io::Error::other(format!("cc {SOURCE}: {status}"))),
        Err(error) => Err(error),
    }
}

/// A run of the C program, ready. It ends when dropped.
struct Plain {
    child: Child,
    output: BufReader<ChildStdout>,
    count: u64,
}

impl Plain {
    fn start(
        program: &Path,
        mechanism: &str,
        cpus: (u32, u32),
        count: u64,
        padding: usize,
    ) -> io::Result<Plain> {
        let mut child = Command::new(program)
            .args([mechanism, &cpus.0.to_string(), &cpus.1.to_string(), &count.to_string()])
            .env("PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut plain = Plain { child, output, count };
        plain.line().map(|_ready| plain)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(io::Error::other("the C program ended early")),
            _ => Ok(line),
        }
    }

    /// Lets it warm up and time: mean round trip, in ns.
    fn run(&mut self) -> io::Result<f64> {
        self.child.stdin.as_mut().expect("piped").write_all(b"\n")?;
        let total: f64 = self.line()?.trim().parse().map_err(io::Error::other)?;
        Ok(total / self.count as f64)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A line of the table, and what was found for it.
struct Case {
    mechanism: &'static str,
    placement: Placement,
    cpus: (u32, u32),
    /// Round trips of a launch.
    count: u64,
    /// Mean round trips in ns, paired by round.
    tool: Vec<f64>,
    plain: Vec<f64>,
}

impl Case {
    fn one_cpu(&self) -> bool {
        self.cpus.0 == self.cpus.1
    }

    /// The CPUs of initiator and responder.
    fn cpus(&self, swapped: bool) -> (u32, u32) {
        let (first, second) = self.cpus;
        if swapped { (second, first) } else { (first, second) }
    }

    fn modes(&self) -> Option<String> {
        let modes = two_modes(&self.plain)?;
        Some(format!(
            "{} {}: the C program has two modes, {:.0} ns ({:.0} %) and {:.0} ns",
            self.mechanism,
            self.placement,
            modes.low.center,
            100.0 * modes.low.share,
            modes.high.center
        ))
    }
}

/// One that takes part in a round.
enum Entrant {
    Tool(Launch),
    Plain(Plain),
}

/// Makes the rounds of cases that share a placement.
struct Rounds<'a> {
    machine: &'a Machine,
    interrupt: &'a Interrupt,
    program: &'a Path,
    launcher: Launcher,
    quiet: Duration,
    rng: ChaCha8Rng,
}

impl Rounds<'_> {
    /// Finds how many round trips a launch has, and makes `rounds` of `cases`.
    fn measure(&mut self, cases: &mut [Case], rounds: usize) -> io::Result<()> {
        for case in &mut *cases {
            let mut pilot = Plain::start(self.program, case.mechanism, case.cpus, PILOT, 0)?;
            case.count = (lasting_ns(case.one_cpu()) / pilot.run()?).ceil() as u64;
        }
        let mut swapped = false;
        for first in (0..rounds).step_by(TOGETHER) {
            let mut entrants = Vec::new();
            for _ in first..rounds.min(first + TOGETHER) {
                let mut order: Vec<(usize, bool)> =
                    (0..cases.len()).flat_map(|case| [(case, true), (case, false)]).collect();
                order.shuffle(&mut self.rng);
                for (case, is_tool) in order {
                    entrants.push((case, self.set_up(&cases[case], is_tool, swapped)?));
                }
                swapped = !swapped;
            }
            self.time_together(entrants, cases)?;
        }
        Ok(())
    }

    /// Starts what is to be timed later, and waits until it is ready.
    fn set_up(&mut self, case: &Case, is_tool: bool, swapped: bool) -> io::Result<Entrant> {
        let (cpus, padding) = (case.cpus(swapped), 16 * self.rng.random_range(0..256));
        if !is_tool {
            let plain = Plain::start(self.program, case.mechanism, cpus, case.count, padding);
            return plain.map(Entrant::Plain);
        }
        let (clock, warmup) = (&self.machine.clock, Warmup::default());
        let line = self.rng.random_range(0..Alignment::LINES);
        let spec = Spec {
            buffer_offset: Alignment::default().offset(line),
            ..common::launch_spec(clock, case.mechanism, cpus, warmup, case.count)
        };
        let mut launch = self.launcher.start(&spec, padding)?;
        launch.reach(Stage::Ready, self.interrupt).map_err(common::interrupted)?;
        Ok(Entrant::Tool(launch))
    }

    /// Leaves all alone, times one after the other, and ends them together.
    fn time_together(
        &self,
        mut entrants: Vec<(usize, Entrant)>,
        cases: &mut [Case],
    ) -> io::Result<()> {
        self.interrupt.sleep(if cases[0].one_cpu() { Duration::ZERO } else { self.quiet });
        for (case, entrant) in &mut entrants {
            match entrant {
                Entrant::Plain(plain) => cases[*case].plain.push(plain.run()?),
                Entrant::Tool(launch) => {
                    launch.go();
                    launch.reach(Stage::Timed, self.interrupt).map_err(common::interrupted)?;
                }
            }
        }
        for (_, entrant) in &mut entrants {
            if let Entrant::Tool(launch) = entrant {
                launch.end();
            }
        }
        for (case, entrant) in entrants {
            let Entrant::Tool(launch) = entrant else { continue };
            let case = &mut cases[case];
            let ticks: u64 = common::samples(launch.collect(self.interrupt))?.iter().sum();
            case.tool.push(ticks as f64 * self.machine.clock.ns_per_tick / case.count as f64);
        }
        Ok(())
    }
}

/// How the gates stand.
#[derive(Default)]
struct Gates {
    missed: bool,
    open: bool,
}

impl Gates {
    /// `ok`, `OVER`, `UNDER` or `open`, and the gate.
    fn judge(&mut self, case: &Case, found: &Option<Comparison>) -> String {
        let [least, most] = if case.one_cpu() { GATE_ONE_CPU } else { GATE_ACROSS };
        let word = match found.as_ref().map(|compared| (compared.ratio.low, compared.ratio.high)) {
            Some((low, high)) if least <= low && high <= most => "ok",
            Some((low, _)) if low > most => "OVER",
            Some((_, high)) if high < least => "UNDER",
            _ => "open",
        };
        self.missed |= ["OVER", "UNDER"].contains(&word);
        self.open |= word == "open";
        format!("{word:<5} {least}–{most}")
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Gates { missed: true, .. } => 1,
            Gates { open: true, .. } => 4,
            _ => 0,
        })
    }
}

/// Every mechanism that was asked for, at a placement.
fn cases(placement: Placement, cpus: (u32, u32)) -> Vec<Case> {
    let names = common::names();
    let asked = MECHANISMS
        .into_iter()
        .filter(|mechanism| names.is_empty() || names.iter().any(|name| name == mechanism));
    asked
        .map(|mechanism| Case {
            mechanism,
            placement,
            cpus,
            count: 0,
            tool: Vec::new(),
            plain: Vec::new(),
        })
        .collect()
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let Some(program) = compile(folder.path()).expect("a C program that compiles") else {
        println!("skipped: there is no C compiler (cc) for the program to compare launches with");
        return ExitCode::SUCCESS;
    };
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("signal handlers");
    let rounds = if common::quick() { QUICK } else { WHOLE };
    let quiet = match machine.across {
        Ok((_, cpus)) => {
            common::find_settle(&machine, &interrupt, cpus).expect("launches of a pipe")
        }
        Err(_) => Duration::ZERO,
    };
    println!("A launch of the program over a run of a plain C program: mean round trip, 64 bytes");
    println!("(eventfd and futex: a wake-up), {rounds} rounds; ratios with 95 % intervals.");
    println!("Across CPUs both are left alone for {} ms.\n", quiet.as_millis());
    println!("mechanism   placement      C ns  launch / C           gate");
    let mut gates = Gates::default();
    let mut measuring = Rounds {
        machine: &machine,
        interrupt: &interrupt,
        program: &program,
        launcher: Launcher::new(common::PROGRAM.into()),
        quiet,
        rng: ChaCha8Rng::seed_from_u64(SEED),
    };
    let mut notes = Vec::new();
    for (placement, cpus) in machine.placements() {
        let mut cases = cases(placement, cpus);
        if let Err(error) = measuring.measure(&mut cases, rounds) {
            println!("{placement} failed: {error}");
            gates.missed = true;
            break;
        }
        for case in cases {
            let found = compare_paired(&case.tool, &case.plain, 0.05);
            let word = gates.judge(&case, &found);
            let (placement, plain_ns) = (case.placement.to_string(), common::mean(&case.plain));
            println!(
                "{:<11} {placement:<9} {plain_ns:>9.0}  {}  {word}",
                case.mechanism,
                ratio(&found)
            );
            notes.extend(case.modes());
        }
    }
    notes.iter().for_each(|note| println!("{note}"));
    if interrupt.signal().is_some() { ExitCode::from(130) } else { gates.exit_code() }
}
