//! Builds a laboratory as planned, and takes it down by what was kept of it.
//!
//! Each step leaves a state from which `down` removes everything, also when the process that
//! builds is killed: a namespace is known before it has a name, links end with the namespaces,
//! and the relay ends with the building process until it is written down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::commands::{self, Batch};
use super::means::{self, Chosen, Offered};
use super::relay::{self, RelayEnd, RelaySpec, Started};
use super::run::{listen, run};
use super::space::{Identity, Space};
use super::state::{Lock, Made, NAMES, State};
use super::{LabError, LabRequest, Plan, price};
use machine::interrupt::{Interrupt, end_goes_on};
use sys::identity::ProcessIdentity;

/// Builds what is asked for, which has been checked; for a run that ends with `owner`, or to stay.
///
/// # Errors
/// In one line; what had been made is gone again, unless the line says what is left.
pub fn up(
    asked: &LabRequest,
    owner: Option<ProcessIdentity>,
    interrupt: &Interrupt,
) -> Result<State, LabError> {
    // A signal of the terminal may also end the program that runs just then.
    up_until(asked, owner, interrupt).map_err(|error| match (error, interrupt.signal()) {
        (LabError::Left(line), _) => LabError::Left(line),
        (_, Some(signal)) => LabError::Stopped(signal),
        (error, None) => error,
    })
}

fn up_until(
    asked: &LabRequest,
    owner: Option<ProcessIdentity>,
    interrupt: &Interrupt,
) -> Result<State, LabError> {
    require_privileges()?;
    let chosen = Chosen::of(asked, offered()?).map_err(LabError::Unavailable)?;
    let plan = Plan::of(asked);
    let lock = Lock::take()?;
    let build = refuse_taken(&plan).and_then(|()| {
        let spaces = Vec::new();
        let mut site = Site { asked, chosen, plan: &plan, lock: &lock, spaces, interrupt };
        let mut state = site.fresh_state(owner)?;
        let built = site.build(&mut state);
        built.map(|()| state.clone()).map_err(|error| match take_down(&state, &lock) {
            Ok(_) => error,
            Err(left) => LabError::Left(format!(
                "{error}; not all that was made could be removed again ({left}): `ipcmark lab \
                 down --name {}` does",
                asked.name
            )),
        })
    });
    let left = lock.leave_nothing();
    build.and_then(|state| left.map(|()| state))
}

/// Refuses names that are taken, by a laboratory or by a stranger.
fn refuse_taken(plan: &Plan) -> Result<(), LabError> {
    let name = &plan.name;
    if let Some(state) = State::read(name)? {
        let how = if state.complete { "is up" } else { "was left half made" };
        return Err(LabError::Usage(format!(
            "laboratory `{name}` {how}: remove it with `ipcmark lab down --name {name}`, or \
             choose another --name"
        )));
    }
    for node in 0..plan.nodes.len() {
        let namespace = plan.namespace(node);
        if Path::new(NAMES).join(&namespace).exists() {
            return Err(LabError::Usage(format!(
                "a namespace {namespace} exists and was not made by lab up: choose another --name"
            )));
        }
    }
    Ok(())
}

struct Site<'a> {
    asked: &'a LabRequest,
    chosen: Chosen,
    plan: &'a Plan,
    lock: &'a Lock,
    spaces: Vec<Space>,
    interrupt: &'a Interrupt,
}

impl Site<'_> {
    /// To be called before each step: an end on request begins with the next one.
    fn go_on(&self) -> Result<(), LabError> {
        self.interrupt.signal().map_or(Ok(()), |signal| Err(LabError::Stopped(signal)))
    }

    /// Runs a program inside the namespace of a node.
    fn run(&self, node: usize, words: &[&str], input: &str) -> Result<(), LabError> {
        self.go_on()?;
        run(&self.spaces[node], words, input, Some(self.lock.file()))
    }

    /// Makes the namespaces, nameless as yet, and writes down which ones they are.
    fn fresh_state(&mut self, owner: Option<ProcessIdentity>) -> Result<State, LabError> {
        let mut namespaces = Vec::new();
        for node in 0..self.plan.nodes.len() {
            let made = Space::fresh().and_then(|space| Ok((space.identity()?, space)));
            let (identity, space) = made.map_err(LabError::of("make a network namespace"))?;
            namespaces.push(Made { name: self.plan.namespace(node), identity });
            self.spaces.push(space);
        }
        let (asked, chosen) = (self.asked.clone(), self.chosen);
        let (relay, price, complete) = (None, None, false);
        let state = State { asked, owner, chosen, namespaces, relay, price, complete };
        self.lock.note_names()?;
        state.write()?;
        Ok(state)
    }

    fn build(&self, state: &mut State) -> Result<(), LabError> {
        let relayed = self.chosen.relayed;
        for (space, made) in self.spaces.iter().zip(&state.namespaces) {
            self.go_on()?;
            self.name(space, &made.name)?;
        }
        self.set()?;
        self.batches(&commands::links(self.plan, relayed))?;
        self.go_on()?;
        let relay = if relayed { Some(self.relay(state)?) } else { None };
        if let Some(relay) = &relay {
            state.relay = Some(relay.identity()?);
            state.write()?;
        }
        self.batches(&commands::up(self.plan, relayed))?;
        self.batches(&commands::addresses(self.plan))?;
        for call in means::calls(self.plan, self.asked, &self.chosen) {
            let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
            self.run(call.node, &words, &call.input)?;
        }
        self.wait_for_carriers()?;
        self.go_on()?;
        if let Some(relay) = relay {
            state.price = Some(price::measure(&self.plan.name, || self.go_on())?);
            self.go_on()?;
            relay.let_go()?;
        }
        state.complete = true;
        state.write()
    }

    /// Gives a namespace its name. The program runs in it, so that its id tells which one is meant.
    fn name(&self, space: &Space, name: &str) -> Result<(), LabError> {
        let attach = |thread: u32| {
            let thread = thread.to_string();
            run(space, &["ip", "netns", "attach", name, &thread], "", Some(self.lock.file()))
        };
        let attached =
            space.inside(|| Ok(attach(rustix::thread::gettid().as_raw_nonzero().get() as u32)));
        attached.map_err(LabError::of(format!("name {name}")))?
    }

    fn set(&self) -> Result<(), LabError> {
        for setting in commands::settings(self.plan) {
            let path = Path::new("/proc/sys/net").join(setting.path);
            // Without IPv6 in the kernel, adding the first address of it says so.
            let write = || if path.exists() { fs::write(&path, setting.value) } else { Ok(()) };
            let namespace = self.plan.namespace(setting.node);
            let place = format!("write {} of {namespace}", path.display());
            self.spaces[setting.node].inside(write).map_err(LabError::of(place))?;
        }
        Ok(())
    }

    fn batches(&self, batches: &[Batch]) -> Result<(), LabError> {
        for Batch { node, lines } in batches {
            let input = lines.join("\n") + "\n";
            self.run(*node, &["ip", "-batch", "-"], &input)?;
        }
        Ok(())
    }

    /// Waits until every link works: the kernel sees the far end of a cable only after a while.
    fn wait_for_carriers(&self) -> Result<(), LabError> {
        const NOT_YET: [&str; 3] = ["NO-CARRIER", "state DOWN", "state disabled"];
        let patience = Instant::now() + Duration::from_secs(30);
        for (space, node) in self.spaces.iter().zip(&self.plan.nodes) {
            while let said = listen(space, &["ip", "-oneline", "-details", "link", "show", "up"])?
                && NOT_YET.iter().any(|word| said.contains(word))
            {
                self.go_on()?;
                if Instant::now() > patience {
                    let name = &node.name;
                    return Err(LabError::Failed(format!("links of {name} stay down: {said}")));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    fn relay(&self, state: &State) -> Result<Started, LabError> {
        let line = &self.plan.links[self.plan.line];
        let ends = line.ends.each_ref().map(|end| {
            let made = &state.namespaces[end.node];
            let (namespace, identity) = (made.path(), made.identity);
            RelayEnd { namespace, identity, interface: end.interface.clone() }
        });
        let spec = RelaySpec {
            ends,
            delay_ns: self.asked.delay_ns.unwrap_or(0),
            loss: self.asked.loss.map_or(0, |loss| loss.0),
            seed: self.asked.seed,
            counts: Some(self.plan.name.clone()),
        };
        Started::start(&self.plan.name, &spec)
    }
}

/// Finds what this machine offers, by trying it where nobody sees it.
fn offered() -> Result<Offered, LabError> {
    let space = Space::fresh().map_err(LabError::of("make a network namespace"))?;
    // Says whether iproute2 is there at all.
    run(&space, &["ip", "link", "set", "lo", "up"], "", None)?;
    let [netem, tbf, nft] = means::trials().map(|(line, input)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        run(&space, &words, &input, None).is_ok()
    });
    Ok(Offered { netem, tbf, nft })
}

/// Whether this process may make namespaces and their networks.
pub fn require_privileges() -> Result<(), LabError> {
    /// By their numbers (linux/capability.h).
    const NEEDED: u64 = 1 << 12 | 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective =
        effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if effective & NEEDED == NEEDED {
        return Ok(());
    }
    Err(LabError::Unavailable(
        "a laboratory needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN): run it with sudo".into(),
    ))
}

/// What `lab down` removed.
pub struct TakenDown {
    pub namespaces: usize,
    /// Whether a relay ran.
    pub relay: bool,
    /// Names that mean something else by now, and stay.
    pub strangers: Vec<String>,
}

/// Removes a laboratory, whole or half made, and nothing else. Programs that still run in it are
/// killed if `kill` says so.
///
/// # Errors
/// If there is none of that name, or programs still run in it.
pub fn down(name: &str, kill: bool) -> Result<TakenDown, LabError> {
    require_privileges()?;
    if !State::is_begun(name)? {
        State::existing(name)?;
    }
    locked(|lock| {
        let state = State::existing(name)?;
        end_programs(&state, kill)?;
        take_down(&state, lock)
    })
}

/// Removes a laboratory that `owner` left behind, programs and all. None where it is gone by now, as
/// when its run or another `clean` has removed it, or where the name is another's.
///
/// # Errors
/// If what is left can't be removed.
pub fn remove_left(name: &str, owner: &ProcessIdentity) -> Result<Option<TakenDown>, LabError> {
    require_privileges()?;
    locked(|lock| {
        let left = State::read(name)?.filter(|state| state.owner.as_ref() == Some(owner));
        let Some(state) = left else { return Ok(None) };
        end_programs(&state, true)?;
        take_down(&state, lock).map(Some)
    })
}

/// While nobody else makes or removes a laboratory.
fn locked<T>(act: impl FnOnce(&Lock) -> Result<T, LabError>) -> Result<T, LabError> {
    let lock = Lock::take()?;
    end_goes_on();
    let done = act(&lock);
    let left = lock.leave_nothing();
    done.and_then(|done| left.map(|()| done))
}

fn take_down(state: &State, lock: &Lock) -> Result<TakenDown, LabError> {
    let mut taken = TakenDown { namespaces: 0, relay: false, strangers: Vec::new() };
    if let Some(relay) = &state.relay {
        taken.relay = relay::end(relay)?;
        end_goes_on();
    }
    let outside = Space::open(Path::new("/proc/self/ns/net"))
        .map_err(LabError::of("open /proc/self/ns/net"))?;
    for made in &state.namespaces {
        if made.is_there() {
            // Again where a signal to the process group has hit it: between its fork and setpgid(2) it is
            // in this group still.
            let words = ["ip", "netns", "delete", &made.name];
            let delete = || run(&outside, &words, "", Some(lock.file()));
            delete().or_else(|_| delete()).or_else(|_| delete())?;
            taken.namespaces += 1;
            end_goes_on();
        } else if is_bare(&made.path()) {
            // `ip netns` was killed between making the name and giving it.
            fs::remove_file(made.path()).map_err(LabError::of(format!("remove {}", made.name)))?;
        } else if made.path().exists() {
            taken.strangers.push(made.name.clone());
        }
    }
    state.remove()?;
    Ok(taken)
}

/// Whether a name is an empty file, and no namespace.
fn is_bare(path: &Path) -> bool {
    let device = |identity: Option<fs::Metadata>| {
        use std::os::unix::fs::MetadataExt;
        identity.map(|identity| identity.dev())
    };
    let found = fs::symlink_metadata(path).ok();
    let is_empty = found.as_ref().is_some_and(|metadata| metadata.is_file() && metadata.len() == 0);
    is_empty && device(found) == device(fs::metadata(NAMES).ok())
}

/// Programs that run in a laboratory: their ids, and where.
fn programs(state: &State) -> BTreeMap<i32, String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|pid| Some((pid, home(state, pid)?))).collect()
}

/// The namespace of a laboratory that a process is in.
fn home(state: &State, pid: i32) -> Option<String> {
    let identity = Identity::at(format!("/proc/{pid}/ns/net"))?;
    let made = state.namespaces.iter().find(|made| made.identity == identity)?;
    Some(made.name.clone())
}

/// Waits a second for the last programs to end; then they are killed, or named.
fn end_programs(state: &State, kill: bool) -> Result<(), LabError> {
    let patience = Instant::now() + Duration::from_secs(if kill { 30 } else { 1 });
    let mut before = usize::MAX;
    loop {
        let left = programs(state);
        if left.len() < before {
            before = left.len();
            end_goes_on();
        }
        if left.is_empty() {
            return Ok(());
        }
        for pid in left.keys().filter(|_| kill).filter_map(|pid| Pid::from_raw(*pid)) {
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            // Looked at again now that the id can't go to another process unnoticed.
            if home(state, pid.as_raw_nonzero().get()).is_some() {
                let _ = pidfd_send_signal(&handle, Signal::KILL);
            }
        }
        if Instant::now() > patience {
            let line = |(pid, namespace): (&i32, &String)| {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                format!("{} ({pid}) in {namespace}", name.trim())
            };
            let line: Vec<String> = left.iter().map(line).take(3).collect();
            let name = &state.asked.name;
            return Err(LabError::Failed(format!(
                "{} programs still run in laboratory `{name}`, as {}: end them, or \
                 `ipcmark lab down --name {name} --kill`",
                left.len(),
                line.join(", ")
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
