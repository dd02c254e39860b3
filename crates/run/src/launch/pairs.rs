//! The endpoints of a launch on this host, until they become the functions of its workers: the mechanism is
//! opened once for each initiator, and the responder gets the other end of each.

use std::any::Any;

use super::worker::{WorkerFn, worker_fn};
use mechanisms::network::EffectiveSettings;
use mechanisms::{Endpoint, Opened, Residue, Visitor};
use model::launch::Role;

/// What has been opened so far. Every pair must be of the same variant.
#[derive(Default)]
pub struct Pairs {
    initiators: Vec<WorkerFn>,
    responder: Option<Box<dyn Ends>>,
    effective_settings: EffectiveSettings,
    residues: Vec<Residue>,
}

/// The responder's ends, whatever their type.
trait Ends: Any {
    /// The function of the worker that holds them.
    fn into_worker(self: Box<Self>) -> WorkerFn;
}

impl<E: Endpoint + 'static> Ends for Vec<E> {
    fn into_worker(self: Box<Self>) -> WorkerFn {
        worker_fn(*self)
    }
}

impl Pairs {
    /// A function for each worker, the initiators' first; what the kernel granted; and what must be removed
    /// once the workers are gone.
    pub fn into_workers(self) -> (Vec<(Role, WorkerFn)>, EffectiveSettings, Vec<Residue>) {
        let initiators = self.initiators.into_iter().enumerate();
        let initiators = initiators.map(|(nth, function)| (Role::Initiator(nth), function));
        let responder = self.responder.map(|ends| (Role::Responder, ends.into_worker()));
        (initiators.chain(responder).collect(), self.effective_settings, self.residues)
    }
}

impl Visitor for &mut Pairs {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        self.initiators.push(worker_fn(vec![opened.initiator]));
        let ends = self.responder.get_or_insert_with(|| Box::new(Vec::<E>::new()));
        let ends: &mut dyn Any = &mut **ends;
        let ends: &mut Vec<E> = ends.downcast_mut().expect("a variant has one type of end");
        ends.push(opened.responder);
        self.effective_settings = opened.effective_settings; // the same for each
        self.residues.push(opened.residue);
    }
}
