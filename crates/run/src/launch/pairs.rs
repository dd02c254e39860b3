//! The endpoints of a launch on this host, until they become the functions of its workers: the mechanism is
//! opened once for each connection of each initiator, and the responder gets the other end of each.

use std::any::Any;

use super::worker::{WorkerFn, worker_fn};
use mechanisms::network::EffectiveSettings;
use mechanisms::{Endpoint, Opened, Residue, Visitor};
use model::launch::Role;

/// What has been opened so far. Every pair must be of the same variant.
pub struct Pairs {
    /// How many connections each initiator has.
    connections: usize,
    /// The first initiator's ends, then those of the next.
    initiators: Option<Box<dyn Ends>>,
    responder: Option<Box<dyn Ends>>,
    effective_settings: EffectiveSettings,
    residues: Vec<Residue>,
}

/// Ends of one type, whatever that is.
trait Ends: Any {
    /// The functions of the workers that hold so many of them each.
    fn into_workers(self: Box<Self>, each: usize) -> Vec<WorkerFn>;
}

impl<E: Endpoint + 'static> Ends for Vec<E> {
    fn into_workers(self: Box<Self>, each: usize) -> Vec<WorkerFn> {
        let (mut ends, mut workers) = (self.into_iter(), Vec::new());
        while ends.len() > 0 {
            workers.push(worker_fn(ends.by_ref().take(each).collect()));
        }
        workers
    }
}

/// Puts `end` behind those of its type.
fn push<E: Endpoint + 'static>(ends: &mut Option<Box<dyn Ends>>, end: E) {
    let ends: &mut dyn Any = &mut **ends.get_or_insert_with(|| Box::new(Vec::<E>::new()));
    let ends: &mut Vec<E> = ends.downcast_mut().expect("a variant has one type of end");
    ends.push(end);
}

impl Pairs {
    /// None yet, of initiators that have so many `connections` each.
    pub fn of(connections: usize) -> Pairs {
        let (effective_settings, residues) = (EffectiveSettings::default(), Vec::new());
        Pairs { connections, initiators: None, responder: None, effective_settings, residues }
    }

    /// A function for each worker, the initiators' first; what the kernel granted; and what must be removed
    /// once the workers are gone.
    pub fn into_workers(self) -> (Vec<(Role, WorkerFn)>, EffectiveSettings, Vec<Residue>) {
        let of = |ends: Option<Box<dyn Ends>>, each| ends.map(|end| end.into_workers(each));
        let initiators = of(self.initiators, self.connections).unwrap_or_default();
        let initiators = initiators.into_iter().enumerate();
        let initiators = initiators.map(|(nth, function)| (Role::Initiator(nth), function));
        let responder = of(self.responder, usize::MAX).unwrap_or_default();
        let responder = responder.into_iter().map(|function| (Role::Responder, function));
        (initiators.chain(responder).collect(), self.effective_settings, self.residues)
    }
}

impl Visitor for &mut Pairs {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        push(&mut self.initiators, opened.initiator);
        push(&mut self.responder, opened.responder);
        self.effective_settings = opened.effective_settings; // the same for each
        self.residues.push(opened.residue);
    }
}
