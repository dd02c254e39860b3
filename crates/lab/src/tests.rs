//! The plan and its commands, walked on paper: no root, no network.

use std::collections::BTreeSet;

use super::commands;
use super::means::{self, Chosen, Means, Offered};
use super::plan::{NodeKind, Plan, ipv4};
use model::lab::{By, LabRequest, Loss};

fn asked(hosts: usize, routers: usize, switches: usize) -> LabRequest {
    let (rate, loss, delay_ns) = (None, None, None);
    let name = "lab".to_string();
    LabRequest {
        name,
        hosts,
        routers,
        switches,
        mtu: 1500,
        rate,
        loss,
        delay_ns,
        by: By::Auto,
        seed: 1,
    }
}

/// Every size that is worth a walk.
fn plans() -> impl Iterator<Item = (LabRequest, Plan)> {
    let sizes = (2..=5).flat_map(|hosts| {
        (0..=8).flat_map(move |routers| (0..=8).map(move |switches| (hosts, routers, switches)))
    });
    let asked = sizes.map(|(hosts, routers, switches)| asked(hosts, routers, switches));
    asked.filter(|request| request.check().is_ok()).map(|asked| (asked.clone(), Plan::of(&asked)))
}

/// The routers that a packet crosses from one host to another, by the routes of the plan.
fn crossed(plan: &Plan, from: usize, to: usize) -> Vec<usize> {
    let (target, _) = plan.ends_of(to).next().expect("a host is connected");
    let (mut at, mut routers) = (from, Vec::new());
    while !plan.ends_of(at).any(|(segment, _)| segment == target) {
        let routes = plan.routes(at);
        let exact = routes.iter().find(|route| route.to == Some(target));
        let route = exact.or(routes.iter().find(|route| route.to.is_none())).expect("a route");
        let (segment, number) = route.via;
        let on_segment = plan.ends_of(at).any(|(its, _)| its == segment);
        assert!(on_segment, "{}: the next router is out of reach", plan.nodes[at].name);
        let next = plan.ends().find(|(its, end)| *its == segment && end.number == Some(number));
        at = next.expect("the next router is there").1.node;
        routers.push(at);
        assert!(routers.len() <= plan.nodes.len(), "a packet runs in a circle");
    }
    routers
}

/// The nodes that cables join to `from`, without the line.
fn joined_without_line(plan: &Plan, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([from]);
    loop {
        let before = found.len();
        for (nth, link) in plan.links.iter().enumerate().filter(|(nth, _)| *nth != plan.line) {
            let [one, other] = link.ends.each_ref().map(|end| end.node);
            assert_ne!(nth, plan.line);
            if found.contains(&one) || found.contains(&other) {
                found.extend([one, other]);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[test]
fn every_host_reaches_every_other_over_the_routers_between_them() {
    for (asked, plan) in plans() {
        let hosts: Vec<usize> = (0..plan.nodes.len())
            .filter(|number| plan.nodes[*number].kind == NodeKind::Host)
            .collect();
        assert_eq!(hosts.len(), asked.hosts);
        for from in &hosts {
            for to in hosts.iter().filter(|to| *to != from) {
                let mut back = crossed(&plan, *to, *from);
                back.reverse();
                assert_eq!(crossed(&plan, *from, *to), back, "{asked:?}");
            }
        }
        let end = plan.chain - 1;
        assert_eq!(crossed(&plan, 0, end).len(), asked.routers, "{asked:?}");
        let switches = plan.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count();
        assert_eq!(switches, asked.switches);
    }
}

#[test]
fn the_line_parts_both_sides_and_nothing_else() {
    for (asked, plan) in plans() {
        if asked.hosts > 2 && asked.routers + asked.switches < 2 {
            continue; // refused with impairments
        }
        let left = joined_without_line(&plan, 0);
        for (node, host) in
            plan.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host)
        {
            let on_the_left = (host.name.as_bytes()[0] - b'a').is_multiple_of(2);
            assert_eq!(left.contains(&node), on_the_left, "{} of {asked:?}", host.name);
        }
    }
}

#[test]
fn names_and_addresses_are_given_once() {
    for (asked, plan) in plans() {
        let ends: Vec<_> = plan.ends().collect();
        let unique = |names: BTreeSet<String>| assert_eq!(names.len(), ends.len(), "{asked:?}");
        unique(ends.iter().map(|(_, end)| end.mac.clone()).collect());
        unique(ends.iter().map(|(_, end)| format!("{} {}", end.node, end.interface)).collect());
        let numbered = ends.iter().filter_map(|(segment, end)| Some(ipv4(*segment, end.number?)));
        let addresses: Vec<String> = numbered.collect();
        let once: BTreeSet<&String> = addresses.iter().collect();
        assert_eq!(once.len(), addresses.len(), "{asked:?}");
    }
}

#[test]
fn a_small_laboratory_is_made_by_these_commands() {
    let plan = Plan::of(&asked(2, 1, 1));
    assert_eq!(plan.drawing(false), "a ── s1 ── r1 ── b");
    assert_eq!(plan.drawing(true), "a ── s1 ══ r1 ── b");
    let links: Vec<String> = commands::links(&plan, false).concat_lines();
    assert_eq!(
        links[0],
        "a: link add eth0 index 10 address 02:69:70:00:00:00 mtu 1500 type veth peer name port0 \
         index 11 address 02:69:70:00:01:00 mtu 1500 netns ipcmark-lab-s1"
    );
    assert_eq!(links.len(), 3);
    let relayed: Vec<String> = commands::links(&plan, true).concat_lines();
    assert_eq!(relayed, [links[0].clone(), links[2].clone()], "the relay makes the line");
    let addresses = commands::addresses(&plan).concat_lines();
    for line in [
        "a: address add 198.18.1.1/24 dev eth0",
        "a: address add fd69:7063:6d6b:1::1/64 dev eth0 nodad",
        "a: neighbour add 198.18.1.101 lladdr 02:69:70:00:02:00 dev eth0 nud permanent",
        "a: route add 0.0.0.0/0 via 198.18.1.101",
        "a: route add ::/0 via fd69:7063:6d6b:1::101",
        "r1: address add 198.18.2.101/24 dev eth1",
        "b: route add 0.0.0.0/0 via 198.18.2.101",
    ] {
        assert!(addresses.iter().any(|address| address == line), "{line} of {addresses:#?}");
    }
    assert!(!addresses.iter().any(|address| address.starts_with("s1")), "a switch has no address");
    let settings = commands::settings(&plan);
    let forwards = |node: &str| {
        settings.iter().any(|setting| {
            plan.nodes[setting.node].name == node
                && setting.path == "ipv4/ip_forward"
                && setting.value == "1"
        })
    };
    assert!(forwards("r1") && !forwards("a") && !forwards("s1"));
}

/// Batches as lines `NODE: COMMAND`, for the plan of [`a_small_laboratory_is_made_by_these_commands`].
trait Lines {
    fn concat_lines(self) -> Vec<String>;
}

impl Lines for Vec<commands::Batch> {
    fn concat_lines(self) -> Vec<String> {
        let names = ["a", "s1", "r1", "b"];
        let lines = |batch: commands::Batch| {
            batch.lines.into_iter().map(move |line| format!("{}: {line}", names[batch.node]))
        };
        self.into_iter().flat_map(lines).collect()
    }
}

#[test]
fn what_can_not_be_built_is_refused_with_a_remedy() {
    assert!(asked(3, 0, 0).check().expect_err("nothing joins them").contains("--switches 1"));
    let one = LabRequest { loss: Some(Loss(1)), ..asked(3, 1, 0) };
    assert!(one.check().expect_err("no line parts them").contains("--switches 2"));
    assert_eq!(asked(3, 1, 0).check(), Ok(()));
}

const ALL: Offered = Offered { netem: true, tbf: true, nft: true };
const NO_NETEM: Offered = Offered { netem: false, ..ALL };
const TBF: Offered = Offered { nft: false, ..NO_NETEM };
const NONE: Offered = Offered { tbf: false, ..TBF };

fn everything(by: By) -> LabRequest {
    let (rate, loss, delay_ns) = (Some(100_000_000), Some(Loss(50_000)), Some(10_000_000));
    LabRequest { rate, loss, delay_ns, by, ..asked(2, 1, 1) }
}

#[test]
fn means_are_chosen_by_what_there_is() {
    let means = |asked: &LabRequest, offered| {
        let chosen = Chosen::of(asked, offered).expect("it can be had");
        (chosen.rate, chosen.loss, chosen.delay, chosen.relayed)
    };
    let (netem, tbf) = (Some(Means::Netem), Some(Means::Tbf));
    let (nft, relay) = (Some(Means::Nftables), Some(Means::Relay));
    let all = everything(By::Auto);
    assert_eq!(means(&all, ALL), (netem, netem, netem, false));
    assert_eq!(means(&all, NO_NETEM), (tbf, relay, relay, true), "one seed decides if it relays");
    let prompt = LabRequest { delay_ns: None, ..all.clone() };
    assert_eq!(means(&prompt, NO_NETEM), (tbf, nft, None, false));
    assert_eq!(means(&prompt, TBF), (tbf, relay, None, true));
    assert_eq!(means(&everything(By::Relay), ALL), (tbf, relay, relay, true));
    let bare = LabRequest { by: By::Relay, ..asked(2, 0, 0) };
    assert_eq!(means(&bare, NONE), (None, None, None, true), "a relay that only costs");
    assert_eq!(means(&asked(2, 0, 0), NONE), (None, None, None, false));
    for (asked, offered, remedy) in [
        (everything(By::Kernel), NO_NETEM, "--by kernel"),
        (LabRequest { delay_ns: None, ..everything(By::Kernel) }, TBF, "nftables"),
        (all, NONE, "--rate"),
    ] {
        let line = Chosen::of(&asked, offered).expect_err("it can't be had");
        assert!(line.contains(remedy) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn the_kernel_impairs_both_ends_of_the_line() {
    let lines = |asked: &LabRequest, offered| {
        let chosen = Chosen::of(asked, offered).expect("it can be had");
        let calls = means::calls(&Plan::of(asked), asked, &chosen);
        calls
            .into_iter()
            .map(|call| (call.node, call.words.join(" ") + " " + &call.input))
            .collect::<Vec<_>>()
    };
    let netem = "tc qdisc add dev port1 root netem limit 1488 delay 10000us loss 5% \
                 rate 100000000bit ";
    let calls = lines(&everything(By::Auto), ALL);
    assert_eq!(calls[0], (1, "ip link set port1 gso_max_segs 1 ".into()), "one by one");
    assert_eq!(calls[1], (1, netem.into()));
    assert_eq!(calls[3], (2, netem.replace("port1", "eth0")));
    assert_eq!(calls.len(), 4);
    let calls = lines(&LabRequest { delay_ns: None, ..everything(By::Auto) }, NO_NETEM);
    let tbf = "tc qdisc add dev port1 root tbf rate 100000000bit burst 12500b latency 50ms ";
    assert_eq!(calls[1], (1, tbf.into()));
    assert!(calls[2].1.contains("ingress device \"port1\""), "{calls:?}");
    assert!(calls[2].1.contains("numgen random mod 1000000 < 50000"), "{calls:?}");
    assert_eq!(calls.len(), 6);
}
