//! Which cases a request becomes, how they are grouped, and which stay out.

use super::*;
use model::alignment::Alignment;
use std::path::Path;

fn request(mechanisms: &[&str], workloads: &[(Workload, &[u64])]) -> Request {
    Request {
        mechanisms: mechanisms.iter().map(|mechanism| mechanism.to_string()).collect(),
        workloads: workloads.iter().map(|(w, sizes)| (*w, sizes.to_vec())).collect(),
        ..Request::default()
    }
}

/// What a request becomes on this machine.
pub(super) fn planned(request: &Request) -> Plan {
    let topology = Topology::read(Path::new("/")).unwrap();
    let allowed = topology.online();
    plan(
        request,
        &Machine { topology: &topology, allowed: &allowed, routes: &AvailableRoutes::default() },
    )
    .unwrap()
}

fn names(cases: &[Case]) -> Vec<String> {
    cases.iter().filter(|case| !case.twin).map(|case| case.variant.to_string()).collect()
}

#[test]
fn signals_join_the_smallest_latency_and_stand_apart_in_throughput() {
    let sizes: &[u64] = &[64, 4096];
    let workloads = [(Workload::Latency, sizes), (Workload::Throughput, sizes)];
    let plan = planned(&request(&["pipe", "eventfd"], &workloads));
    let groups: Vec<_> = plan.groups.iter().map(|group| names(&group.cases)).collect();
    let expected: [&[&str]; 5] =
        [&["pipe", "eventfd"], &["pipe"], &["pipe"], &["eventfd"], &["pipe"]];
    assert_eq!(groups, expected);
}

#[test]
fn what_cannot_be_measured_is_a_row_with_its_reason() {
    const LIMITED: &str = "unix-dgram:buffer=16K";
    let workloads: [(Workload, &[u64]); 2] =
        [(Workload::Latency, &[100_000]), (Workload::Throughput, &[64])];
    let plan = planned(&request(&[LIMITED, "shm-ring:wait=spin", "noop"], &workloads));
    let absent: Vec<_> = plan.groups.iter().flat_map(|group| &group.absent).collect();
    let reason = |name: &str, workload| {
        let of = |absent: &&&Absent| {
            absent.case.variant.to_string() == name && absent.case.workload == workload
        };
        absent.iter().find(of).map(|absent| absent.reason.clone()).unwrap_or_default()
    };
    assert!(reason(LIMITED, Workload::Latency).contains("at most 32736 bytes"));
    assert!(reason("shm-ring:wait=spin", Workload::Latency).contains("--spin-on-one-cpu"));
    assert!(reason("noop", Workload::Throughput).contains("carries nothing"));
}

#[test]
fn set_ups_have_no_sizes_and_a_group_at_each_placement() {
    let mut request = request(
        &["noop", "pipe", "eventfd", "shm-ring:wait=spin", "unix-stream:wiring=self"],
        &[(Workload::Connect, &[64, 4096])],
    );
    request.placements = Placement::PINNED.into_iter().chain([Placement::Free]).collect();
    let plan = planned(&request);
    // A place that this machine lacks is a group without cases.
    let of = |group: &&Group| !group.cases.is_empty();
    let groups: Vec<_> = plan.groups.iter().filter(of).map(|group| names(&group.cases)).collect();
    let all = ["noop", "pipe", "eventfd", "shm-ring:wait=spin"];
    assert!(groups.len() >= 2 && groups.iter().all(|group| *group == all), "{groups:?}");
    let cases = || plan.groups.iter().flat_map(|group| &group.cases);
    assert!(cases().all(|case| case.message_bytes.is_none()));
    assert!(
        cases()
            .filter(|case| case.variant.to_string() == "pipe")
            .all(|case| case.opened_for() == 64)
    );
    let places: Vec<_> =
        plan.groups.iter().filter(of).map(|group| group.cases[0].placement).collect();
    assert!(places.contains(&Placement::SameCpu) && places.contains(&Placement::Free));
    assert_eq!(plan.groups[0].absent.len(), 1, "{:?}", plan.groups[0].absent);
}

#[test]
fn each_place_of_buffers_has_groups_of_its_own_and_means_nothing_to_a_wake_up() {
    let mut request = request(&["pipe", "eventfd"], &[(Workload::Latency, &[64])]);
    request.levels = [("align".to_string(), vec!["page".to_string(), "malloc".into()])].into();
    let plan = planned(&request);
    let groups: Vec<_> = plan.groups.iter().map(|group| names(&group.cases)).collect();
    let expected: [&[&str]; 2] = [&["pipe", "eventfd"], &["pipe"]];
    assert_eq!(groups, expected);
    let places = plan.groups.iter().map(|group| group.cases[0].align);
    assert!(places.eq([Alignment::Page, Alignment::Malloc]));
}

#[test]
fn each_total_is_a_case_of_its_own_where_bytes_are_transferred() {
    let sizes: &[u64] = &[64, 4096];
    let workloads = [(Workload::Latency, sizes), (Workload::Throughput, sizes)];
    let mut request = request(&["pipe", "eventfd"], &workloads);
    request.totals = vec![Total::Message, Total::Bytes(1024)];
    let plan = planned(&request);
    let of = |case: &Case| (case.variant.to_string(), case.message_bytes, case.total);
    let groups: Vec<_> =
        plan.groups.iter().map(|group| group.cases.iter().map(of).collect::<Vec<_>>()).collect();
    let pipe = |size, total| ("pipe".to_string(), Some(size), total);
    let signal = || ("eventfd".to_string(), None, None);
    let twin = pipe(64, None);
    assert_eq!(groups[0], [pipe(64, None), signal(), twin]);
    assert_eq!(groups[1], [pipe(4096, None)]);
    assert_eq!(groups[2], [pipe(64, Some(Total::Message))]);
    assert_eq!(groups[3], [signal()]);
    assert_eq!(groups[4], [pipe(64, Some(Total::Bytes(1024)))]);
    assert_eq!(groups[5], [pipe(4096, Some(Total::Message))]);
    assert!(groups[6].is_empty() && groups.len() == 7);
    let absent = &plan.groups[6].absent[0];
    assert_eq!(of(&absent.case), pipe(4096, Some(Total::Bytes(1024))));
    assert_eq!(absent.reason, "--total 1024 is less than one message of 4096 bytes");
}

#[test]
fn one_twin_per_placement() {
    let sizes: &[u64] = &[64, 4096];
    let plan = planned(&request(&["pipe", "tcp"], &[(Workload::Latency, sizes)]));
    let twins = plan.groups.iter().flat_map(|group| &group.cases).filter(|case| case.twin).count();
    assert_eq!(twins, 1);
}

#[test]
fn planning_leaves_this_process_in_its_network() {
    let network = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = network();
    let plan = planned(&request(&["tcp:mtu=1500", "udp:mtu=1500"], &[(Workload::Latency, &[64])]));
    assert_eq!(plan.groups[0].cases.iter().filter(|case| !case.twin).count(), 2);
    assert_eq!(network(), before, "what is launched later would be measured in another one");
}

#[test]
fn rates_that_are_tried_for_a_capacity_are_one_group_for_each_number_of_connections() {
    let mut request = request(&["pipe", "tcp", "eventfd"], &[(Workload::Rate, &[64, 1024])]);
    request.placements = vec![Placement::Free];
    let levels = model::load::Levels {
        rates: vec![1_000, 4_000],
        connections: vec![1, 4],
        ..Default::default()
    };
    request.loads = levels.product();
    let group = |group: &Group| {
        let load = |case: &Case| case.load.map(|load| (load.per_second, load.connections));
        group.cases.iter().map(|case| (case.message_bytes, load(case).unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(planned(&request).groups.len(), 8, "each load by itself");
    request.bound = Some("p99:1ms".parse().unwrap());
    let plan = planned(&request);
    let groups: Vec<_> = plan.groups.iter().map(group).collect();
    assert_eq!(groups.len(), 4, "{groups:?}");
    for (nth, group) in groups.iter().enumerate() {
        let connections = if nth < 2 { 1 } else { 4 };
        assert!(group.iter().all(|pair| pair.1.1 == connections), "{nth}: {group:?}");
        for rate in [1_000, 4_000] {
            let sized = group.iter().filter(|pair| pair.1.0 == rate && pair.0.is_some()).count();
            assert_eq!(sized, 2, "{nth}: {group:?}");
        }
    }
    assert!(plan.groups.iter().flat_map(|group| &group.cases).all(|case| !case.twin));
}

#[test]
fn what_does_not_fit_a_need_is_a_row_with_its_reason() {
    let mut request = request(
        &["pipe", "eventfd", "unix-seqpacket", "shm-ring:wait=spin"],
        &[(Workload::Rate, &[64])],
    );
    request.placements = vec![Placement::Free];
    request.bound = Some("p99:1ms".parse().unwrap());
    let need = model::choice::Need {
        per_second: 1_000,
        blocking: true,
        bytes: Some(model::mechanism::Framing::Stream),
    };
    request.aim = model::request::Aim::Choice(need);
    let plan = planned(&request);
    assert_eq!(names(&plan.groups[0].cases), ["pipe"]);
    let reasons: Vec<&str> = plan.groups[0].absent.iter().map(|absent| &*absent.reason).collect();
    let expected = ["carries a wake-up alone", "carries messages", "busy-waits"];
    assert!(
        reasons.iter().zip(expected).all(|(reason, words)| reason.contains(words)),
        "{reasons:?}"
    );
}
