//! The routes of a run to other hosts: the one behind `--peer`, and the laboratories that the run makes
//! for itself and takes down at its end, whatever that is.

use model::lab::Loss;
use std::path::Path;
use std::sync::Arc;

use super::peer::PeerArgs;
use super::{Failure, PROGRAM, complain};
use ::lab::{self, LabError, State, own};
use ::run::campaign::OpenRoutes;
use ::run::launch::peer::Peer;
use ::run::launch::{Interrupt, PeerRoute};
use ::run::plan::{AvailableRoutes, RemoteHost};
use machine::interrupt::Removal;
use mechanisms::Cleaned;
use model::peer::PeerRequest;
use model::request::Request;
use model::route::{LabRecord, Route};
use sys::identity::Liveness;

/// The hosts of a laboratory between which is measured.
const ENDS: [&str; 2] = ["a", "b"];

/// The routes of a run. What they need beside is taken away when this is dropped.
#[derive(Default)]
pub struct Routes {
    /// What launches take.
    pub open: OpenRoutes,
    /// What a plan must know of them.
    pub available: AvailableRoutes,
    // Agents end before the networks that they are in.
    _peer: Option<Peer>,
    _labs: Vec<OwnLab>,
}

impl Routes {
    /// Opens what cases of `route`es` need; `peer` is the host behind `--peer`, if there is one.
    ///
    /// # Errors
    /// Where that host doesn't answer, or a signal came. A laboratory that can't be had is none: its
    /// cases say why.
    pub fn open(
        routes: &[Route],
        peer: Option<Peer>,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Routes, Failure> {
        let mut found = Routes::default();
        if let Some(peer) = peer {
            let host = RemoteHost::of(&peer, &machine::host::read(Path::new("/")));
            found.available.peer = Some(host);
            let route = PeerRoute { peer: peer.clone(), near: None };
            found.open.routes.insert(Route::Peer, route);
            found._peer = Some(peer);
        }
        for (nth, route) in routes.iter().filter(|route| route.chain().is_some()).enumerate() {
            match OwnLab::up(route, nth, seed.wrapping_add(nth as u64), interrupt) {
                Ok((lab, open, record)) => {
                    found._labs.push(lab);
                    found.open.routes.insert(route.clone(), open);
                    found.open.labs.push(record);
                }
                Err(LabError::Stopped(signal)) => return Err(stopped(signal)),
                Err(error) => {
                    drop(found.available.no_lab.insert(route.clone(), error.to_string()));
                }
            }
            if let Some(signal) = interrupt.signal() {
                return Err(stopped(signal));
            }
        }
        Ok(found)
    }

    /// What a plan would know of the routes that `request` needs, without opening any.
    pub fn foreseen(request: &Request) -> AvailableRoutes {
        // Whatever CPU is named there: that host will say whether it has it.
        let allowed = || (0..4096).collect();
        let anywhere =
            || RemoteHost { allowed: allowed(), one_kernel: false, ipv4: Ok(()), ipv6: Ok(()) };
        let labs = request.routes.iter().filter(|route| route.chain().is_some());
        let refused = lab::build::require_privileges().err().map(|error| error.to_string());
        AvailableRoutes {
            peer: request.peer.as_ref().map(|_| anywhere()),
            no_lab: labs.filter_map(|lab| Some((lab.clone(), refused.clone()?))).collect(),
        }
    }
}

/// The host that `args` ask for, greeted; kept in the request as it was found.
pub fn greet(
    args: &PeerArgs,
    request: &mut Request,
    interrupt: &Interrupt,
) -> Result<Option<Peer>, Failure> {
    let Some(asked) = request.peer.clone() else { return Ok(None) };
    let peer = args.start(asked, interrupt)?;
    request.peer = Some(peer.asked().clone());
    Ok(Some(peer))
}

fn stopped(signal: i32) -> Failure {
    let line = "stopped before anything was measured; laboratories of this run are gone".into();
    Failure { line, code: 128 + signal as u8 }
}

/// A laboratory that lives as long as its run.
struct OwnLab {
    name: String,
    _removal: Removal,
}

impl OwnLab {
    fn up(
        route: &Route,
        nth: usize,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<(OwnLab, PeerRoute, LabRecord), LabError> {
        let chain = route.chain().ok_or(LabError::Failed("no laboratory".into()))?;
        let asked = chain.asked(&own::name(std::process::id(), nth), seed);
        let removal =
            Removal::owed(format!("laboratory {}: `ipcmark clean` removes it", asked.name));
        let state = lab::up(&asked, Some(own::owner()?), interrupt)?;
        let lab = OwnLab { name: asked.name, _removal: removal };
        let near = lab::inside::network(&lab.name, ENDS[0])?;
        let command = [PROGRAM, "lab", "exec", "--name", &lab.name, ENDS[1], "--"];
        let status = lab::Status::of(&state);
        let far = &status.hosts[1];
        let addresses = [&far.ipv4, &far.ipv6].into_iter().filter_map(|text| text.parse().ok());
        let asked = PeerRequest {
            command: command.map(String::from).to_vec(),
            program: PROGRAM.into(),
            addresses: addresses.collect(),
            deployed: false,
        };
        let peer = Peer::start(asked, interrupt).map_err(|why| match interrupt.signal() {
            Some(signal) => LabError::Stopped(signal),
            None => LabError::Failed(why.0),
        })?;
        let open = PeerRoute { peer, near: Some(Arc::new(near)) };
        Ok((lab, open, lab_record(route, &state)))
    }
}

impl Drop for OwnLab {
    fn drop(&mut self) {
        if let Err(error) = lab::down(&self.name, true) {
            complain(&format!("{error}; `ipcmark clean` removes what is left"));
        }
    }
}

/// Removes the laboratories of runs that were killed; gives what failed beside.
pub fn clean() -> (Cleaned, Vec<String>) {
    let (mut cleaned, mut failed) = (Cleaned::default(), Vec::new());
    // A user who can't make a laboratory has left none.
    if lab::build::require_privileges().is_err() {
        return (cleaned, failed);
    }
    let states = match State::each() {
        Ok(states) => states,
        Err(error) => return (cleaned, vec![error.to_string()]),
    };
    for state in states {
        let state = match state {
            Ok(state) => state,
            Err(error) => {
                failed.push(error.to_string());
                continue;
            }
        };
        let (Some(owner), name) = (&state.owner, &state.asked.name) else { continue };
        let run = format!("laboratory {name} of the run of process {}", owner.pid);
        match owner.liveness() {
            Liveness::Alive => cleaned.left.push(format!("{run}: it runs")),
            Liveness::Unknown(why) => cleaned
                .left
                .push(format!("{run}: {why}; `ipcmark lab down --name {name}` removes it")),
            Liveness::Dead => match lab::remove_left(name, owner) {
                Ok(taken) => cleaned
                    .removed
                    .extend(taken.map(|down| format!("{run}: {} namespaces", down.namespaces))),
                Err(error) => failed.push(format!("{run}: {error}")),
            },
        }
    }
    (cleaned, failed)
}

/// Of a laboratory that is up.
fn lab_record(route: &Route, state: &lab::State) -> LabRecord {
    let status = lab::Status::of(state);
    let record = |impairment: &lab::status::Impairment| {
        let value = match impairment.what {
            "rate" => model::lab::rate_word(impairment.value as u64),
            "loss" => Loss((impairment.value * 1e6).round() as u32).to_string(),
            _ => model::lab::delay_word(impairment.value as u64),
        };
        format!("{} {value} by {}", impairment.what, impairment.means)
    };
    LabRecord {
        route: route.clone(),
        chain: status.chain,
        mtu_bytes: status.mtu_bytes,
        impairments: status.impairments.iter().map(record).collect(),
    }
}
