//! The arms of a run: how a launch is started under each, in which sets their launches stand, and what is done before an
//! arm's turn. Every command is one of the command line.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::launch::launches::Node;
use crate::launch::{Interrupt, Launcher};
use crate::plan::Case;
use model::arm::Arm;
use model::distinct::grouped;

/// How long the set-up of an arm may take.
const SET_UP_WITHIN: Duration = Duration::from_secs(30);
/// How often it is looked whether it has ended.
const LOOKED_AT: Duration = Duration::from_millis(2);

pub(super) struct Arms {
    arms: Vec<Arm>,
    /// The one whose set-up was done last.
    standing: Option<usize>,
}

impl Arms {
    pub(super) fn of(arms: Vec<Arm>) -> Arms {
        Arms { arms, standing: None }
    }

    /// The nodes of this host, or of one of its networks: one an arm.
    pub(super) fn nodes(&self, launcher: &Launcher, network: Option<Arc<File>>) -> Vec<Node> {
        let node = |launcher: &Launcher| Node::here(launcher, network.clone());
        match self.arms.as_slice() {
            [] => vec![node(launcher)],
            arms => arms.iter().map(|arm| node(&launcher.under(arm))).collect(),
        }
    }

    /// Which of them has that name; the first where a case has none.
    pub(super) fn place(&self, name: Option<&str>) -> usize {
        self.arms.iter().position(|arm| Some(&*arm.name) == name).unwrap_or(0)
    }

    /// Cases in the order in which they are launched, cut into sets of at most `most`. What differs in its arm alone stands
    /// next to each other, in a random order, so that it shares a set; but arms that are set up have sets of their own.
    pub(super) fn together<'a>(
        &self,
        order: Vec<usize>,
        most: usize,
        case: impl Fn(usize) -> &'a Case,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Vec<usize>> {
        let cut = |order: Vec<usize>, most: usize| {
            order.chunks(most.max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>()
        };
        if self.arms.is_empty() {
            return cut(order, most);
        }
        if self.arms.iter().any(|arm| arm.setup.is_some()) {
            let mut arms: Vec<usize> = (0..self.arms.len()).collect();
            arms.shuffle(rng);
            let of = |arm: &usize| {
                let own = |at: &usize| self.place(case(*at).arm.as_deref()) == *arm;
                cut(order.iter().copied().filter(own).collect(), most)
            };
            return arms.iter().flat_map(of).collect();
        }
        let plain = |at: usize| Case { arm: None, ..case(at).clone() };
        let sorted = grouped(order, |a, b| plain(*a) == plain(*b)).concat();
        cut(sorted, most - most % self.arms.len().min(most))
    }

    /// Does what is to be done before launches under the arm called `name`, unless that was the last thing done; whether
    /// anything was.
    ///
    /// # Errors
    /// What became of its command.
    pub(super) fn set_up(
        &mut self,
        name: Option<&str>,
        interrupt: &Interrupt,
    ) -> Result<bool, String> {
        let place = self.place(name);
        let Some(command) = self.arms.get(place).and_then(|arm| arm.setup.as_deref()) else {
            return Ok(false);
        };
        if self.standing == Some(place) {
            return Ok(false);
        }
        self.standing = None;
        let arm = &self.arms[place].name;
        shell(command, SET_UP_WITHIN, |left| {
            interrupt.sleep(left);
            interrupt.signal().is_none()
        })
        .map_err(|why| format!("the set-up of arm {arm} {why}"))?;
        self.standing = Some(place);
        Ok(true)
    }
}

/// Runs a shell command to its end, without input and without output; `waits` lets so much time pass, and says whether to
/// go on.
///
/// # Errors
/// What became of it, as the end of a sentence: `ended with 1`.
pub fn shell(
    command: &str,
    within: Duration,
    waits: impl Fn(Duration) -> bool,
) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("didn't start: sh: {error}"))?;
    let until = Instant::now() + within;
    let mut goes_on = true;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let code =
                    status.code().map_or_else(|| status.to_string(), |code| code.to_string());
                return Err(format!("ended with {code}"));
            }
            Ok(None) if goes_on && Instant::now() < until => goes_on = waits(LOOKED_AT),
            Ok(None) => {
                // With all that it started, and waits for.
                if let Some(group) = Pid::from_raw(child.id() as i32) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                return Err(match goes_on {
                    true => format!("took longer than {} s and was ended", within.as_secs()),
                    false => "was ended by a signal".into(),
                });
            }
            Err(error) => return Err(format!("was lost: {error}")),
        }
    }
}
