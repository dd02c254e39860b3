//! What is typed: sizes, CPU lists, placements, mechanisms with options, routes, probes, labels, durations.
//! What was read and is written again is read alike.

use machine::{format_cpu_list, parse_cpu_list};
use mechanisms::Variant;
use mechanisms::udp::Udp;
use mechanisms::{Mechanism, OpenSpec};
use model::factor::Factor;
use model::placement::Placement;
use model::probe::Probe;
use model::route::Route;
use model::total::Total;
use model::{duration, lab, rate, size};
use study::size_bound::SizeBound;

use crate::input::Input;

/// Words that texts are made of, so that more of them mean something.
const WORDS: [&str; 52] = [
    "udp",
    "tcp",
    "pipe",
    "shm-ring",
    "unix-stream",
    "io-uring",
    ":",
    "=",
    ",",
    "-",
    "..",
    ":x",
    "on",
    "off",
    "wait",
    "spin",
    "nodelay",
    "datagram",
    "reliability",
    "loss",
    "burst",
    "flips",
    "deadline",
    "hamming-7-4",
    "golay-24-12",
    "reed-solomon-",
    "raptorq",
    "+arq",
    "selective-repeat",
    "%",
    "buffer",
    "message",
    "1",
    "64",
    "4K",
    "1M",
    "4294967295",
    "18446744073709551616",
    "-1",
    "0.5",
    "1e308",
    "nan",
    "lab",
    "routers",
    "switches",
    "mtu",
    "rate",
    "delay",
    "same-cpu",
    "trace",
    "times=2",
    "family",
];

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.below(8);
    let text = if input.below(2) == 0 {
        input.text()
    } else {
        let mut text = String::new();
        while input.goes_on() && text.len() < 200 {
            match input.below(8) {
                0 => text.push_str(&input.edge().to_string()),
                1 => text.push(input.byte().into()),
                _ => text.push_str(WORDS[input.below(WORDS.len())]),
            }
        }
        text
    };
    match kind {
        0 => sizes(&text),
        1 => cpus(&text),
        2 | 3 => variant(&text),
        4 => route(&text),
        5 => {
            if let Ok(placement) = Placement::parse(&text) {
                assert_eq!(Placement::parse(&placement.to_string()), Ok(placement));
            }
            if let Ok(total) = Total::parse(&text) {
                assert_eq!(Total::parse(&total.to_string()), Ok(total));
            }
            let _ = (
                SizeBound::parse(&text),
                Factor::parse(&text),
                study::counted::Count::parse(&text),
            );
        }
        6 => {
            if let Ok(probe) = text.parse::<Probe>() {
                assert_eq!(probe.to_string().parse(), Ok(probe));
            }
            let _ = Probe::each_of(&text);
            let _ = text.parse::<store::Label>();
            let _ = fleet::nodes::named(&text);
        }
        _ => {
            let _ = (duration::parse(&text), rate::parse(&text));
            let _ = (lab::name(&text), lab::hosts(&text), lab::hops(&text), lab::mtu(&text));
            if let Ok(bits) = lab::rate(&text) {
                assert_eq!(lab::rate(&lab::rate_word(bits)), Ok(bits));
            }
            if let Ok(ns) = lab::delay(&text) {
                assert_eq!(lab::delay(&lab::delay_word(ns)), Ok(ns));
            }
            let _ = lab::loss(&text);
        }
    }
}

fn sizes(text: &str) {
    if let Ok(bytes) = size::parse(text) {
        assert_eq!(size::parse(&size::format(bytes)), Ok(bytes));
        assert!(bytes <= size::LARGEST);
    }
    if let Ok(list) = size::parse_list(text, size::message) {
        assert!(list.iter().all(|list| (1..=size::LARGEST_MESSAGE).contains(list)));
    }
    let _ = size::parse_list(text, size::parse);
}

fn cpus(text: &str) {
    if let Ok(cpus) = parse_cpu_list(text) {
        let written = format_cpu_list(&cpus);
        if !cpus.is_empty() {
            assert_eq!(parse_cpu_list(&written).as_deref(), Ok(&cpus[..]), "{written}");
        }
    }
}

fn variant(text: &str) {
    let Ok(variant) = Variant::parse(text) else { return };
    let again = Variant::parse(&variant.to_string()).expect("what was written");
    assert_eq!(again.to_string(), variant.to_string());
    let _ = (variant.traits(), variant.waits(), variant.is_ipv6());
    let largest = variant.entry.largest(&variant.options);
    if variant.entry.name == "udp" {
        let spec = OpenSpec {
            options: variant.options,
            message_bytes: largest.unwrap_or(64).clamp(1, 64),
            same_process: false,
            seed: 1,
        };
        let _ = Udp::over_network(&spec);
    }
}

fn route(text: &str) {
    if let Ok(route) = Route::parse(text) {
        let json = serde_json::to_string(&route).expect("a word");
        let back: Route = serde_json::from_str(&json).expect("what was written");
        assert_eq!(back, route);
        if let Route::Lab(chain) = &route {
            let _ = chain.asked("lab0", 1).check();
        }
    }
    let _ = Route::parse_list(text);
}
