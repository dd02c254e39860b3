//! Launches on nodes whose agents are objects of this process: what one of them does to the others.

use super::*;
use crate::launch::peer::connection::{AgentHere, Connection, Frame};
use crate::launch::peer::simulated::{self, Planted, SimulatedAgent};
use crate::launch::state::tests::wanted;
use crate::launch::wire::{FrameKind, Missing};

/// An agent whose stream ends at the first word.
struct Gone;

impl AgentHere for Gone {
    fn hear(&mut self, _: FrameKind, _: &[u8]) {}

    fn said(&mut self) -> Result<Option<Frame>, Missing> {
        Err(Missing::Closed)
    }
}

fn node(agent: impl AgentHere + 'static, name: Option<&str>) -> Node {
    let link = Rc::new(RefCell::new(Link::of(Ok(Connection::Here(Box::new(agent))))));
    Node::Agent { link, name: name.map(String::from) }
}

fn answering() -> SimulatedAgent {
    SimulatedAgent::new(0, Planted::among(2), simulated::host(), 7)
}

/// One launch on each of two nodes, in slots of their own, behind one that can't be launched.
fn run(launches: &mut Launches) -> Result<Vec<LaunchResult>, Interrupted> {
    let on = |near| Ok(Wanted { near, slot: near, ..wanted(None) });
    let reason = "no way".to_string();
    let set = vec![Err(Outcome::NotApplicable { reason }), on(0), on(1)];
    launches.run(set, Duration::ZERO, &Interrupt::install().unwrap(), || {})
}

#[test]
fn a_node_that_is_lost_fails_what_is_on_it_and_nothing_else() {
    let mut launches = Launches::of(vec![node(answering(), Some("a")), node(Gone, Some("b"))]);
    for _ in 0..2 {
        let found = run(&mut launches).unwrap();
        let came: Vec<usize> = found.iter().map(|result| result.samples.len()).collect();
        assert_eq!(came, [0, 2, 0], "in the order of the set");
        let outcomes: Vec<&Outcome> = found.iter().map(|result| &result.record.outcome).collect();
        assert!(matches!(outcomes[0], Outcome::NotApplicable { reason } if reason == "no way"));
        assert_eq!(*outcomes[1], Outcome::Ok);
        let Outcome::Failed { reason } = outcomes[2] else { panic!("{:?}", outcomes[2]) };
        assert!(reason.starts_with("b is gone: "), "{reason}");
        assert!(launches.states.is_empty(), "nothing is kept of launches that have ended");
    }
}

#[test]
fn without_a_peer_nothing_can_be_measured() {
    let mut launches = Launches::of(vec![node(answering(), None), node(Gone, None)]);
    assert_eq!(run(&mut launches).unwrap_err(), Interrupted);
    assert!(launches.states.is_empty());
}
