//! A plan as lines for `ip -batch`, one batch for a namespace, in the order in which they work:
//! links, then everything up, then addresses, neighbours and routes.

use super::plan::{NodeKind, Plan, ipv4, ipv6};

/// What waits in front of the relay at most: some 250 ms at a gigabit a second.
const QUEUED_BYTES: u32 = 32 << 20;

/// Lines for `ip -batch` in the namespace of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The node, by its place in the plan.
    pub node: usize,
    /// One command each, without the word `ip`.
    pub lines: Vec<String>,
}

/// A setting of a namespace below /proc/sys/net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The node, by its place in the plan.
    pub node: usize,
    /// The file below /proc/sys/net.
    pub path: &'static str,
    pub value: &'static str,
}

/// Routers forward; nobody asks for routers or waits to see whether an address is taken.
pub fn settings(plan: &Plan) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (node, host) in plan.nodes.iter().enumerate() {
        let forward = if host.kind == NodeKind::Router { "1" } else { "0" };
        for (path, value) in [
            ("ipv4/ip_forward", forward),
            ("ipv6/conf/all/forwarding", forward),
            ("ipv6/conf/default/accept_ra", "0"),
            ("ipv6/conf/default/accept_dad", "0"),
        ] {
            settings.push(Setting { node, path, value });
        }
    }
    settings
}

/// Makes every link, each from inside a namespace; the line stays out if the relay makes it.
pub fn links(plan: &Plan, relayed: bool) -> Vec<Batch> {
    by_node(plan, |node| {
        let mine = plan
            .links
            .iter()
            .enumerate()
            .filter(|(nth, link)| link.ends[0].node == node && !(relayed && *nth == plan.line));
        let make = |(nth, link): (usize, &super::plan::Link)| {
            let [near, far] = &link.ends;
            // Of devices that bear one number on both sides the kernel tells only once a second
            // whether they are connected (linkwatch_urgent_event in its link_watch.c).
            let index = 10 + 2 * nth;
            format!(
                "link add {} index {index} address {} mtu {mtu} type veth peer name {} index {} \
                 address {} mtu {mtu} netns {}",
                near.interface,
                near.mac,
                far.interface,
                index + 1,
                far.mac,
                plan.namespace(far.node),
                mtu = plan.mtu
            )
        };
        mine.map(make).collect()
    })
}

/// Makes bridges, and brings everything up. What the relay made gets its address and MTU first, and
/// a queue that holds a burst until the relay runs.
pub fn up(plan: &Plan, relayed: bool) -> Vec<Batch> {
    by_node(plan, |node| {
        let mut lines = Vec::new();
        let is_switch = plan.nodes[node].kind == NodeKind::Switch;
        if is_switch {
            lines.push("link add br0 type bridge stp_state 0 mcast_snooping 0".to_string());
            lines.push(format!("link set br0 mtu {} addrgenmode none up", plan.mtu));
        } else {
            lines.push("link set lo up".to_string());
        }
        for (nth, link) in plan.links.iter().enumerate() {
            for end in link.ends.iter().filter(|end| end.node == node) {
                let mut line = format!("link set {}", end.interface);
                if relayed && nth == plan.line {
                    let frames = (QUEUED_BYTES / plan.mtu).min(10_000);
                    line += &format!(" address {} mtu {} txqueuelen {frames}", end.mac, plan.mtu);
                }
                if is_switch {
                    line += " addrgenmode none master br0";
                }
                lines.push(line + " up");
            }
        }
        lines
    })
}

/// Gives addresses, names neighbours and routes.
pub fn addresses(plan: &Plan) -> Vec<Batch> {
    by_node(plan, |node| {
        let mut lines = Vec::new();
        for (segment, end) in plan.ends_of(node) {
            let Some(number) = end.number else { continue };
            let interface = &end.interface;
            lines.push(format!("address add {}/24 dev {interface}", ipv4(segment, number)));
            lines.push(format!("address add {}/64 dev {interface} nodad", ipv6(segment, number)));
            let others = plan.ends().filter(|(its, other)| *its == segment && other.node != node);
            for (_, other) in others {
                let Some(number) = other.number else { continue };
                for address in [ipv4(segment, number), ipv6(segment, number)] {
                    let mac = &other.mac;
                    lines.push(format!(
                        "neighbour add {address} lladdr {mac} dev {interface} nud permanent"
                    ));
                }
            }
        }
        for route in plan.routes(node) {
            let (segment, number) = route.via;
            let (to, to6) = match route.to {
                Some(to) => (format!("{}/24", ipv4(to, 0)), format!("{}/64", ipv6(to, 0))),
                None => ("0.0.0.0/0".to_string(), "::/0".to_string()),
            };
            lines.push(format!("route add {to} via {}", ipv4(segment, number)));
            lines.push(format!("route add {to6} via {}", ipv6(segment, number)));
        }
        lines
    })
}

fn by_node(plan: &Plan, lines: impl Fn(usize) -> Vec<String>) -> Vec<Batch> {
    let batches = (0..plan.nodes.len()).map(|node| Batch { node, lines: lines(node) });
    batches.filter(|batch| !batch.lines.is_empty()).collect()
}
