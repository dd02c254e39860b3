//! A launch between two hosts. The responder's half starts first, on the peer, and reports its port.
//! The initiator's half then starts here. When both are ready, both start to measure.

use std::cell::RefCell;
use std::fs::File;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Peer;
use super::link::{Frame, Link};
use crate::launch::handle::{
    COLLECTED_WITHIN, GRACE, LaunchResult, Launcher, READY_WITHIN, Stage, Supervised, Way, failure,
    parse_record, said_nothing,
};
use crate::launch::spec::{Half, Spec};
use crate::launch::wire::{Kind, Missing};
use crate::launch::workers::OWNER_GONE;
use machine::interrupt::{Interrupt, Interrupted};
use mechanisms::Variant;
use mechanisms::network::Cookie;
use model::launch::{FarSide, Outcome, Record};

/// How long to wait, after one half has failed, for the record of the other, which may hold the cause.
const ECHO: Duration = Duration::from_millis(500);

/// A launch whose responder runs on the peer and whose initiator runs here.
pub struct RemoteLaunch {
    launcher: Launcher,
    /// The network namespace of the near half; None for this process's own.
    network: Option<Arc<File>>,
    link: Rc<RefCell<Link>>,
    number: u32,
    near: Option<Supervised>,
    spec: Spec,
    padding: usize,
    time: Duration,
    going: bool,
    /// The record, once the launch has ended early.
    over: Option<Record>,
}

impl RemoteLaunch {
    /// Asks the peer to start the responder's half.
    pub fn begin(launcher: Launcher, way: &Way, spec: &Spec, padding: usize) -> RemoteLaunch {
        let link = way.peer.link.clone();
        let number = {
            let mut link = link.borrow_mut();
            link.next += 1;
            let number = link.next;
            link.heard.insert(number, Default::default());
            number
        };
        let time = Duration::from_millis(spec.deadline_ms);
        let mut it = RemoteLaunch {
            launcher,
            network: way.near.clone(),
            link,
            number,
            near: None,
            spec: spec.clone(),
            padding,
            time,
            going: false,
            over: None,
        };
        if let Err(outcome) = it.begin_far(&way.peer) {
            it.over = Some(Record::without_samples(outcome));
        }
        it
    }

    fn begin_far(&mut self, peer: &Peer) -> Result<(), Outcome> {
        let variant = Variant::parse(&self.spec.mechanism);
        let ipv6 = variant.as_ref().is_ok_and(Variant::is_ipv6);
        let at = peer.address(ipv6).map_err(|reason| Outcome::NotApplicable { reason })?;
        if let Ok(variant) = variant {
            self.spec.mechanism = on_path(variant, at)?;
        }
        let cookie = Cookie::drawn()
            .map_err(|error| Outcome::Failed { reason: format!("getrandom: {error}") })?;
        let far = Spec {
            half: Some(Half::Far { at, cookie }),
            clock: peer.far.clock.kind,
            ns_per_tick: peer.far.clock.ns_per_tick,
            ..self.spec.clone()
        };
        // The port is to be told.
        self.spec.half = Some(Half::Near { to: (at, 0).into(), cookie });
        let mut payload = self.number.to_le_bytes().to_vec();
        payload.extend_from_slice(&(self.padding as u32).to_le_bytes());
        payload.extend(serde_json::to_vec(&far).expect("a spec is always JSON"));
        self.link.borrow_mut().say(Kind::Begin, &payload);
        Ok(())
    }

    /// The process id of the supervisor here; 0 while there is none.
    pub fn pid(&self) -> u32 {
        self.near.as_ref().map_or(0, Supervised::pid)
    }

    /// Whether it has ended early.
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Waits until both halves are at `stage`, or the launch is over.
    pub fn reach(&mut self, stage: Stage, interrupt: &Interrupt) -> Result<(), Interrupted> {
        if self.over.is_some() {
            return Ok(());
        }
        match stage {
            Stage::Ready => self.get_ready(interrupt),
            Stage::Timed => self.be_timed(interrupt),
        }
    }

    fn get_ready(&mut self, interrupt: &Interrupt) -> Result<(), Interrupted> {
        let Some(port) = self.far_says(Kind::Bound, READY_WITHIN, interrupt)? else {
            return Ok(());
        };
        if let (Some(Half::Near { to, .. }), Some(port)) =
            (&mut self.spec.half, port.first_chunk::<2>())
        {
            to.set_port(u16::from_le_bytes(*port));
        }
        let started = match &self.network {
            None => self.launcher.start_here(&self.spec, self.padding),
            Some(network) => self.launcher.start_in(network, &self.spec, self.padding),
        };
        match started {
            Ok(near) => self.near = Some(near),
            Err(error) => {
                self.over = Some(LaunchResult::not_started(&error).record);
                return Ok(());
            }
        }
        self.near_reaches(Stage::Ready, READY_WITHIN, interrupt)?;
        if self.over.is_none() {
            self.far_says(Kind::Ready, READY_WITHIN, interrupt)?;
        }
        Ok(())
    }

    /// Tells the far half to go. The near half is told once the far one has reported that it did.
    pub fn go(&mut self) {
        if self.over.is_none() {
            self.link.borrow_mut().relay(self.number, Kind::Go);
        }
    }

    fn be_timed(&mut self, interrupt: &Interrupt) -> Result<(), Interrupted> {
        if !self.going {
            self.far_says(Kind::Going, COLLECTED_WITHIN, interrupt)?;
            self.going = true;
            if let (None, Some(near)) = (&self.over, &mut self.near) {
                near.tell(Kind::Go);
            }
        }
        self.near_reaches(Stage::Timed, self.time + GRACE, interrupt)?;
        if self.over.is_none() {
            self.far_says(Kind::Timed, COLLECTED_WITHIN, interrupt)?;
        }
        Ok(())
    }

    /// Tells both halves to exit.
    pub fn end(&mut self) {
        if let (None, Some(near)) = (&self.over, &mut self.near) {
            near.tell(Kind::End);
            self.link.borrow_mut().relay(self.number, Kind::End);
        }
    }

    /// Tells the near half to end; the far one is told when this is dropped.
    pub fn hang_up(&mut self) {
        if let Some(near) = &mut self.near {
            near.hang_up();
        }
    }

    /// Waits for the near half and reads the far half's frames meanwhile.
    fn near_reaches(
        &mut self,
        stage: Stage,
        within: Duration,
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        let deadline = Instant::now() + within;
        loop {
            let (Some(near), None) = (&mut self.near, &self.over) else { return Ok(()) };
            let reached = {
                let link = self.link.borrow();
                near.reach_by(stage, deadline, &[interrupt.fd(), link.fd()])
            };
            if reached.is_ok() {
                if let Some(record) = near.over().cloned() {
                    self.ended(Some(record), None);
                }
                return self.still_there();
            }
            if interrupt.signal().is_some() {
                return Err(Interrupted);
            }
            self.link.borrow_mut().take_in();
            self.still_there()?;
            if let Some(far) = self.far_record() {
                self.ended(None, Some(far));
            }
        }
    }

    /// Fails if the connection to the peer is lost, because nothing can be measured then.
    fn still_there(&self) -> Result<(), Interrupted> {
        if self.link.borrow().lost.is_some() { Err(Interrupted) } else { Ok(()) }
    }

    /// The record of a far half that ended early, if it has arrived. Other frames stay queued.
    fn far_record(&mut self) -> Option<Record> {
        let mut link = self.link.borrow_mut();
        let heard = link.heard.get_mut(&self.number)?;
        let at = heard.iter().position(|(kind, _)| matches!(kind, Kind::Record | Kind::Over))?;
        Some(record_of(&heard.remove(at)?))
    }

    /// Waits for a frame of the far half; None if the launch ended instead.
    fn far_says(
        &mut self,
        expected: Kind,
        within: Duration,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<u8>>, Interrupted> {
        let next =
            self.link.borrow_mut().next(self.number, Instant::now() + within, &[interrupt.fd()]);
        match next {
            Ok((kind, payload)) if kind == expected => return Ok(Some(payload)),
            Ok(frame @ (Kind::Record | Kind::Over, _)) => {
                self.ended(None, Some(record_of(&frame)));
            }
            Ok((kind, _)) => {
                self.over =
                    Some(failure(format!("the peer's supervisor said {kind:?} out of turn")));
            }
            Err(Missing::Interrupted) => return Err(Interrupted),
            Err(missing) => {
                if matches!(missing, Missing::Late) {
                    self.link.borrow_mut().roll_call(interrupt.fd());
                }
                self.still_there()?;
                self.over = Some(failure(format!("at the peer: {}", said_nothing(&missing))));
            }
        }
        Ok(None)
    }

    /// Ends the launch after one half ended early: waits for the other's record, which may hold the cause.
    fn ended(&mut self, near: Option<Record>, far: Option<Record>) {
        let near = near.or_else(|| self.last_of_near());
        let far = far.or_else(|| self.last_of_far(Instant::now() + ECHO)).or_else(|| {
            // It may wait for a partner that is gone: told to end, it reports what it has seen.
            self.link.borrow_mut().relay(self.number, Kind::End);
            self.last_of_far(Instant::now() + ECHO)
        });
        self.over = Some(together(near, far));
    }

    /// The near half's record, sent by itself or once it is told to end.
    fn last_of_near(&mut self) -> Option<Record> {
        let near = self.near.as_mut()?;
        if !near.speaks_within(ECHO) {
            near.tell(Kind::End);
        }
        let until = Instant::now() + ECHO;
        let _ = near.reach_by(Stage::Timed, until, &[]);
        // After the time-out the record is only that of the time-out itself.
        near.over().filter(|_| Instant::now() < until).cloned()
    }

    /// The far half's record, if it arrives before `until`.
    fn last_of_far(&mut self, until: Instant) -> Option<Record> {
        while Instant::now() < until {
            let next = self.link.borrow_mut().next(self.number, until, &[]);
            match next {
                Ok(frame @ (Kind::Record | Kind::Over, _)) => return Some(record_of(&frame)),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// The record of both halves, and the samples of the near one.
    pub fn collect(mut self, interrupt: &Interrupt) -> LaunchResult {
        if let Some(record) = self.over.take() {
            return LaunchResult::without_samples(record);
        }
        let Some(near) = self.near.take() else {
            return LaunchResult::without_samples(failure("it was never started".into()));
        };
        let mut result = near.collect(interrupt);
        let far = loop {
            let deadline = Instant::now() + COLLECTED_WITHIN;
            match self.link.borrow_mut().next(self.number, deadline, &[interrupt.fd()]) {
                Ok(frame @ (Kind::Record | Kind::Over, _)) => break record_of(&frame),
                Ok(_) => {}
                Err(missing) => break failure(said_nothing(&missing)),
            }
        };
        match (&result.record.outcome, &far.outcome) {
            (Outcome::Ok, Outcome::Ok) => {
                take_far(&mut result.record, far);
                result
            }
            _ => LaunchResult::without_samples(together(Some(result.record), Some(far))),
        }
    }
}

impl Drop for RemoteLaunch {
    fn drop(&mut self) {
        self.link.borrow_mut().over(self.number);
    }
}

fn record_of((kind, payload): &Frame) -> Record {
    match kind {
        Kind::Record => parse_record(payload),
        _ => failure("the supervisor died without a word".into()),
    }
}

/// The variant that both sides open, as text: what the path decides is decided here.
fn on_path(variant: Variant, to: IpAddr) -> Result<String, Outcome> {
    let options = (variant.entry.for_path)(&variant.options, to).map_err(|error| {
        let reason = format!("no way to {to}: {error}: name an address with --peer-address");
        Outcome::NotApplicable { reason }
    })?;
    Ok(Variant { options, ..variant }.to_string())
}

/// Adds the far half's record to the near half's.
fn take_far(record: &mut Record, far: Record) {
    let Record { granted, noise, traffic, setup_ns, responder, .. } = far;
    record.responder = responder;
    record.far = Some(Box::new(FarSide { granted, noise, traffic, setup_ns }));
}

/// The record of a launch of which a half failed, with the reports of both.
fn together(near: Option<Record>, far: Option<Record>) -> Record {
    let outcome =
        both(near.as_ref().map(|it| it.outcome.clone()), far.as_ref().map(|it| it.outcome.clone()));
    let mut record = near.unwrap_or_else(|| Record::without_samples(outcome.clone()));
    record.outcome = outcome;
    record.initiator.samples = 0;
    if let Some(far) = far {
        take_far(&mut record, far);
    }
    record
}

/// The outcome of two halves. Not applicable and unavailable take precedence; two failures are joined.
fn both(near: Option<Outcome>, far: Option<Outcome>) -> Outcome {
    let there = |reason: String| format!("at the peer: {reason}");
    let far = far.map(|outcome| match outcome {
        Outcome::Failed { reason } => Outcome::Failed { reason: there(reason) },
        Outcome::NotApplicable { reason } => Outcome::NotApplicable { reason: there(reason) },
        Outcome::Unavailable(mut why) => {
            why.reason = there(why.reason);
            Outcome::Unavailable(why)
        }
        Outcome::Ok => Outcome::Ok,
    });
    let was_ended =
        |it: &Outcome| matches!(it, Outcome::Failed { reason } if reason.ends_with(OWNER_GONE));
    match (near.filter(|it| !was_ended(it)), far.filter(|it| !was_ended(it))) {
        (Some(Outcome::Failed { reason }), Some(Outcome::Failed { reason: far })) => {
            Outcome::Failed { reason: format!("{reason}; {far}") }
        }
        // What is missing is the cause, and what failed the echo.
        (Some(it @ (Outcome::NotApplicable { .. } | Outcome::Unavailable(_))), _)
        | (_, Some(it @ (Outcome::NotApplicable { .. } | Outcome::Unavailable(_)))) => it,
        (Some(it @ Outcome::Failed { .. }), _) | (_, Some(it @ Outcome::Failed { .. })) => it,
        _ => Outcome::Failed { reason: "it ended without a word".into() },
    }
}
