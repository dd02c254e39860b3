use super::*;

#[test]
fn loads_are_read_as_they_are_written() {
    let full = Load {
        per_second: 50_000,
        depth: 8,
        connections: 16,
        server: Some(Server::IoUring),
        response: Some(4096),
        service: Service::Exponential(5_000),
    };
    let written = "50k:depth=8,connections=16,server=io-uring,response=4096,service=exp:5us";
    let deep = Load { per_second: 1_500, depth: 64, ..Load::USUAL };
    let plain = Load { per_second: 10_000, ..Load::USUAL };
    let closed = ("closed:connections=16", Load::closed(16));
    for (text, load) in [("10k", plain), ("1500:depth=64", deep), (written, full), closed] {
        assert_eq!(text.parse(), Ok(load));
        assert_eq!(load.to_string(), text);
    }
    assert_eq!("1k:response=4K".parse::<Load>().unwrap().to_string(), "1k:response=4096");
    let bad = [
        "10k:depth=0",
        "10k:depth=4097",
        "10k:depth=+1",
        "10k:deep=2",
        "10k:depth=",
        "10k:",
        "10k:server=fork",
        "10k:connections=0",
        "10k:response=0",
        "10k:service=2s",
        "10k:service=exp:",
        "10k:service=-1us",
        "closed:depth=2",
        "closed:connections=2,server=epoll",
        "closed:",
    ];
    for text in bad {
        assert!(text.parse::<Load>().is_err(), "{text}");
    }
}

#[test]
fn services_are_read_as_they_are_written() {
    for text in ["0", "250ns", "5us", "1500ns", "exp:20us", "2ms", "1s"] {
        assert_eq!(text.parse::<Service>().unwrap().to_string(), text);
    }
}

#[test]
fn lists_and_ranges_are_rates_depths_and_connections() {
    assert_eq!(rates("1k..8k:x2,5k"), Ok(vec![1_000, 2_000, 4_000, 8_000, 5_000]));
    assert_eq!(depths("1..16:x4"), Ok(vec![1, 4, 16]));
    assert_eq!(connection_counts("1,16"), Ok(vec![1, 16]));
    assert!(depths("1..5000").is_err());
    let levels = Levels { rates: vec![10, 20], depths: vec![1, 2], ..Levels::default() };
    let all = levels.product().iter().map(Load::to_string).collect::<Vec<_>>();
    assert_eq!(all, ["10", "20", "10:depth=2", "20:depth=2"]);
    assert_eq!(Levels::default().product(), vec![Load::USUAL]);
    let levels = Levels { connections: vec![1, 4], ..Levels::default() };
    let all = levels.product().iter().map(Load::to_string).collect::<Vec<_>>();
    assert_eq!(all, ["1k", "1k:connections=4,server=epoll"], "several need a choice");
    let shared = Load { server: Some(Server::Scan), ..Load::USUAL };
    let all = Levels { shared, ..levels }.product();
    assert!(all.iter().all(|load| load.server == Some(Server::Scan)), "{all:?}");
}

#[test]
fn workloads_take_of_what_was_said_what_they_have() {
    let of = |connections: &[u32], workloads: &[Workload]| {
        let levels = Levels { connections: connections.to_vec(), ..Levels::default() };
        let all = levels.of(workloads)?;
        Ok::<_, String>(all.iter().map(Load::to_string).collect::<Vec<_>>().join(" "))
    };
    let (rate, fan_out, crowd) = (Workload::Rate, Workload::FanOut, Workload::Messaging);
    for (connections, workloads, words) in [
        (&[][..], &[fan_out][..], "1k"),
        (&[2, 8], &[fan_out, crowd], "closed:connections=2 closed:connections=8"),
        (&[1], &[fan_out], "closed"),
        (&[2], &[rate, fan_out], "1k:connections=2,server=epoll closed:connections=2"),
        (&[2], &[rate], "1k:connections=2,server=epoll"),
    ] {
        assert_eq!(of(connections, workloads).as_deref(), Ok(words));
    }
    assert!(of(&[3, 256], &[fan_out]).is_ok());
    assert!(of(&[3, 256], &[fan_out, crowd]).unwrap_err().contains("at most 255"));
}
