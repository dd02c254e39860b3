//! The agents of a fleet, as the coordinator sees them: starts them, and greets them. A lost node is recorded with
//! its reason; the others continue.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::nodes;
use machine::interrupt::{INTERRUPTED_WITHIN, Interrupted};
use model::peer::FarHost;
use run::launch::Interrupt;
use run::launch::launches::{Launches, Node};
use run::launch::peer::connection::{ANSWERS_WITHIN, Connection, agent_of, hello};
use run::launch::peer::link::{Link, end_links};
use run::launch::peer::simulated::{self, Planted, SimulatedAgent};
use store::FleetRequest;

/// How long agents may take to end once they are asked to.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// The ways to all agents, and the launches on their nodes.
pub struct AgentPool<'a> {
    /// What each host is, in the order of the nodes; None where its agent never answered.
    pub far: Vec<Option<FarHost>>,
    pub launches: Launches,
    links: Vec<Rc<RefCell<Link>>>,
    interrupt: &'a Interrupt,
}

impl<'a> AgentPool<'a> {
    /// Starts an agent on every node and waits for its hello.
    ///
    /// # Errors
    /// A signal came.
    pub fn start(
        asked: &FleetRequest,
        interrupt: &'a Interrupt,
    ) -> Result<AgentPool<'a>, Interrupted> {
        let like = asked.simulated.then(simulated::host);
        let start = |(nth, name): (usize, &String)| match &like {
            Some(host) => {
                let far = simulated::node(host, nth, name);
                let planted = Planted::among(asked.nodes.len());
                let agent = SimulatedAgent::new(nth, planted, far, asked.seed);
                Ok(Connection::Here(Box::new(agent)))
            }
            // A signal from a terminal is the coordinator's to handle first.
            None => {
                let command = nodes::command(&asked.launcher, name);
                Connection::start(&command, &agent_of(&asked.program), true)
            }
        };
        let named = asked.nodes.iter().enumerate();
        let links: Vec<_> =
            named.map(|pair| Rc::new(RefCell::new(Link::of(start(pair))))).collect();
        let node = |(link, name): (&Rc<RefCell<Link>>, &String)| Node::Agent {
            link: Rc::clone(link),
            name: Some(name.clone()),
        };
        let launches = Launches::of(links.iter().zip(&asked.nodes).map(node).collect());
        let mut pool = AgentPool { far: Vec::new(), launches, links, interrupt };
        let all: Vec<usize> = (0..pool.links.len()).collect();
        for node in pool.launches.silent(&all, &hello(), ANSWERS_WITHIN, interrupt)? {
            let why = format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs());
            pool.give_up(node, why);
        }
        pool.far = pool.links.iter().map(|link| link.borrow().far.clone()).collect();
        Ok(pool)
    }

    /// Whether a node takes part.
    pub fn is_here(&self, node: usize) -> bool {
        self.lost(node).is_none() && self.far[node].is_some()
    }

    /// Why a node is lost; None while it takes part.
    pub fn lost(&self, node: usize) -> Option<String> {
        self.links[node].borrow().lost.clone()
    }

    /// Takes a node out, for this reason.
    pub fn give_up(&mut self, node: usize, why: String) {
        self.links[node].borrow_mut().give_up(why);
    }
}

impl Drop for AgentPool<'_> {
    fn drop(&mut self) {
        let interrupted = self.interrupt.signal().is_some();
        end_links(&self.links, if interrupted { INTERRUPTED_WITHIN } else { ENDS_WITHIN });
    }
}
