//! The plan of a laboratory: nodes, links, addresses and routes; nothing is done here.
//!
//! Switches and routers are dealt in turn into a chain, a switch first; host `a` hangs on its
//! first device and host `b` on its last; of further hosts `c`, `e`, … hang on the first and
//! `d`, `f`, … on the last. The **line** is the link that is impaired: between the first two
//! devices, else the last device and `b`, else `a` and `b`. So a packet between the two sides
//! meets it once in each direction, however long the chain is.
//!
//! Addresses are of the block for benchmarks (RFC 2544: 198.18.0.0/15) and unique local ones.
//! Neighbours are written in, so that no ARP or neighbour discovery is waited for or lost.

use model::lab::LabRequest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Where programs run.
    Host,
    /// Forwards packets between segments.
    Router,
    /// A bridge: joins links to one segment.
    Switch,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// `a`, `r1`, `s1`.
    pub name: String,
    pub kind: NodeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Its node, by its place in the plan.
    pub node: usize,
    /// The interface: `eth0`, or `port0` of a switch.
    pub interface: String,
    /// The interface's hardware address.
    pub mac: String,
    /// The last part of its addresses; none on a switch.
    pub number: Option<usize>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its sides, that of host `a` first.
    pub ends: [LinkEnd; 2],
    pub segment: usize,
}

/// A way to a segment that a router isn't on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The segment; none for "everything else".
    pub to: Option<usize>,
    /// The segment through which it is reached, and the next router's number there.
    pub via: (usize, usize),
}

/// A laboratory on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The laboratory's name.
    pub name: String,
    /// Largest packet of every link, in bytes.
    pub mtu: u32,
    /// Every namespace: the chain from `a` to `b`, then further hosts.
    pub nodes: Vec<Node>,
    /// Every link: the chain's, then those of further hosts.
    pub links: Vec<Link>,
    /// The link that is impaired.
    pub line: usize,
    /// How many nodes the chain has, `a` and `b` counted.
    pub chain: usize,
}

/// Routers are numbered from here in their segments, hosts from 1.
const ROUTERS_FROM: usize = 100;

impl Plan {
    /// Draws up what is asked for, which has been checked.
    pub fn of(asked: &LabRequest) -> Plan {
        let mut nodes = vec![Node { name: "a".into(), kind: NodeKind::Host }];
        for nth in 1..=asked.switches.max(asked.routers) {
            if nth <= asked.switches {
                nodes.push(Node { name: format!("s{nth}"), kind: NodeKind::Switch });
            }
            if nth <= asked.routers {
                nodes.push(Node { name: format!("r{nth}"), kind: NodeKind::Router });
            }
        }
        nodes.push(Node { name: "b".into(), kind: NodeKind::Host });
        let chain = nodes.len();
        let letters = ('a'..).take(asked.hosts).skip(2);
        nodes.extend(letters.map(|letter| Node { name: letter.into(), kind: NodeKind::Host }));
        // A router's neighbours take part in the first segment behind it; a switch's share one.
        let mut wires: Vec<(usize, usize, usize)> = Vec::new();
        let mut segment = 0;
        for (left, node) in nodes.iter().enumerate().take(chain - 1) {
            segment += usize::from(node.kind == NodeKind::Router);
            wires.push((left, left + 1, segment));
        }
        let mut fresh = segment;
        for host in chain..nodes.len() {
            let (device, beside) =
                if (host - chain).is_multiple_of(2) { (1, 0) } else { (chain - 2, chain - 2) };
            let shared = nodes[device].kind == NodeKind::Switch;
            fresh += usize::from(!shared);
            wires.push((host, device, if shared { wires[beside].2 } else { fresh }));
        }
        let mut plan = Plan {
            name: asked.name.clone(),
            mtu: asked.mtu,
            line: if chain >= 4 { 1 } else { chain - 2 },
            nodes,
            links: Vec::new(),
            chain,
        };
        for (left, right, segment) in wires {
            let ends = [plan.end(left), plan.end(right)];
            // An end's interface depends on how many its node has: each link is added at once.
            plan.links.push(Link { ends, segment });
        }
        plan
    }

    fn end(&self, node: usize) -> LinkEnd {
        let nth = self.ends().filter(|(_, end)| end.node == node).count();
        let Node { name, kind } = &self.nodes[node];
        let stem = if *kind == NodeKind::Switch { "port" } else { "eth" };
        let number = match kind {
            NodeKind::Host => Some((name.as_bytes()[0] - b'a') as usize + 1),
            NodeKind::Router => Some(ROUTERS_FROM + self.router_place(node)),
            NodeKind::Switch => None,
        };
        // 02: locally administered; "ip" in the next two bytes (IEEE 802, section 8.4).
        let mac = format!("02:69:70:00:{node:02x}:{nth:02x}");
        LinkEnd { node, interface: format!("{stem}{nth}"), mac, number }
    }

    /// Which router of the chain a node is, from 1.
    fn router_place(&self, node: usize) -> usize {
        self.nodes[..=node].iter().filter(|node| node.kind == NodeKind::Router).count()
    }

    fn routers(&self) -> usize {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Router).count()
    }

    /// Every side of every link, with its segment.
    pub fn ends(&self) -> impl Iterator<Item = (usize, &LinkEnd)> {
        self.links.iter().flat_map(|link| link.ends.iter().map(|end| (link.segment, end)))
    }

    /// The sides of links at `node`, with their segments.
    pub fn ends_of(&self, node: usize) -> impl Iterator<Item = (usize, &LinkEnd)> {
        self.ends().filter(move |(_, end)| end.node == node)
    }

    /// The namespace of a node, as `ip netns` names it.
    pub fn namespace(&self, node: usize) -> String {
        namespace(&self.name, &self.nodes[node].name)
    }

    pub fn segments(&self) -> usize {
        self.links.iter().map(|link| link.segment).max().map_or(0, |last| last + 1)
    }

    /// The routes of a node beside those that its own addresses give.
    pub fn routes(&self, node: usize) -> Vec<Route> {
        match self.nodes[node].kind {
            NodeKind::Switch => Vec::new(),
            NodeKind::Host => {
                let Some((segment, _)) = self.ends_of(node).next() else { return Vec::new() };
                let gateway = self.ends().find(|(its, end)| {
                    *its == segment && self.nodes[end.node].kind == NodeKind::Router
                });
                let number = gateway.and_then(|(_, end)| end.number);
                let via = number.map(|number| Route { to: None, via: (segment, number) });
                via.into_iter().collect()
            }
            NodeKind::Router => self.routes_of_router(node),
        }
    }

    /// Router number `place` of the chain is on segments `place - 1` and `place`; further hosts of
    /// the first and the last router have segments of their own behind all of those.
    fn routes_of_router(&self, node: usize) -> Vec<Route> {
        let place = self.router_place(node);
        let own: Vec<usize> = self.ends_of(node).map(|(segment, _)| segment).collect();
        let far = (0..self.segments()).filter(|segment| !own.contains(segment));
        far.map(|segment| {
            let is_left = if segment <= self.routers() {
                segment < place
            } else {
                // The only other router with such segments is at the other end of the chain.
                self.ends().any(|(its, end)| {
                    its == segment
                        && self.nodes[end.node].kind == NodeKind::Router
                        && self.router_place(end.node) < place
                })
            };
            let via = if is_left {
                (place - 1, ROUTERS_FROM + place - 1)
            } else {
                (place, ROUTERS_FROM + place + 1)
            };
            Route { to: Some(segment), via }
        })
        .collect()
    }

    /// The chain in one line; `══` is the line that is impaired.
    pub fn drawing(&self, impaired: bool) -> String {
        let mut text = self.nodes[0].name.clone();
        for (nth, node) in self.nodes[1..self.chain].iter().enumerate() {
            let link = if impaired && nth == self.line { " ══ " } else { " ── " };
            text += link;
            text += &node.name;
        }
        text
    }

    /// Further hosts and the devices that they hang on: `c on s1`.
    pub fn further_hosts(&self) -> Vec<String> {
        let name = |end: &LinkEnd| self.nodes[end.node].name.clone();
        let further = self.links[self.chain - 1..].iter();
        further
            .map(|Link { ends: [host, on], .. }| format!("{} on {}", name(host), name(on)))
            .collect()
    }
}

/// The namespace of a node of the laboratory `lab`, as `ip netns` names it.
pub fn namespace(lab: &str, node: &str) -> String {
    format!("ipcmark-{lab}-{node}")
}

/// The IPv4 address of number `number` in a segment; addresses count segments from 1.
pub fn ipv4(segment: usize, number: usize) -> String {
    format!("198.18.{}.{number}", segment + 1)
}

/// The IPv6 address of number `number` in a segment: a unique local one (RFC 4193) whose forty
/// bits spell `ipcmk`. The number is written as it is in the IPv4 address.
pub fn ipv6(segment: usize, number: usize) -> String {
    format!("fd69:7063:6d6b:{}::{number}", segment + 1)
}
