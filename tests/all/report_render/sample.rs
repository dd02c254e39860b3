//! A document such as a run writes: ten mechanisms, two placements, every kind of block and
//! figure. The numbers are made up, of a plausible size, and the same each time.

use report::units::{duration, rate, ratio};
use report::{
    Axis, Block, Column, Document, Drawn, Emphasis, Figure, FigureKind, Mark, Point, Protocol, Row,
    Scale, Section, Series, Step, Table, Text, Unit, Verdict, VerdictKind,
};

/// Name, round trip on one CPU and within a last-level cache in ns, copy rate in bytes/s.
pub const MECHANISMS: [(&str, f64, f64, f64); 10] = [
    ("noop", 38.0, 39.0, 0.0),
    ("pipe", 4_120.0, 10_900.0, 2.1e9),
    ("unix-stream", 5_310.0, 12_400.0, 3.4e9),
    ("unix-seqpacket", 5_480.0, 12_900.0, 2.9e9),
    ("eventfd", 3_870.0, 10_300.0, 0.0),
    ("futex", 3_540.0, 9_900.0, 0.0),
    ("tcp", 11_700.0, 19_800.0, 3.0e9),
    ("udp", 10_200.0, 18_100.0, 1.6e9),
    ("shm-ring:wait=futex", 3_910.0, 10_100.0, 6.8e9),
    ("shm-ring:wait=spin", f64::NAN, 236.0, 9.7e9),
];

fn names() -> impl Iterator<Item = &'static str> {
    MECHANISMS.iter().map(|mechanism| mechanism.0)
}

/// A repeatable number between 0 and 1.
fn scatter(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / f64::from(1 << 24)
}

fn latency_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Intervals,
        "latency",
        "Round-trip latency by mechanism and placement",
        "Median over launches of the launch medians, 64-byte messages, with its 96 % interval.",
        Axis::categories("mechanism", names()),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    for (column, placement) in ["same-cpu", "same-llc"].iter().enumerate() {
        let points = MECHANISMS.iter().enumerate().map(|(at, mechanism)| {
            let value = [mechanism.1, mechanism.2][column];
            let spread = 1.0 + 0.02 * (column + 1) as f64 * (1.0 + 2.0 * scatter(at + 31));
            if value.is_finite() {
                Point::new(at as f64, value).between(value / spread, value * spread)
            } else {
                Point::gap(at as f64, "not run: spinning on one CPU")
            }
        });
        figure.series.push(Series::new(*placement, points));
    }
    figure.marks.push(Mark::new("floor: cache line, same-llc", 210.0));
    figure.marks.push(Mark::new("floor: futex wake-up, same-cpu", 3_200.0));
    figure.marks.push(Mark::new("floor: futex wake-up, same-llc", 9_100.0));
    figure.found("Best: futex (same-cpu); shm-ring:wait=spin (same-llc).")
}

fn throughput_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Curves,
        "throughput",
        "Throughput against message size",
        "Bytes counted at the receiver, payload written and read, workers within one cache.",
        Axis::new("message size", Unit::Bytes, Scale::Log),
        Axis::new("throughput", Unit::BytesPerSecond, Scale::Log),
    );
    for (name, _, latency, top) in MECHANISMS.iter().filter(|mechanism| mechanism.3 > 0.0) {
        let points = (0..8).map(|n| {
            let bytes = f64::from(64 << (2 * n));
            let value = 1e9 / (latency * 0.09 / bytes + 1e9 / top);
            Point::new(bytes, value).between(value * 0.94, value * 1.05)
        });
        let mut series = Series::new(*name, points);
        series.points[4] = series.points[4].clone().marked("a bend: slope 0.9 before, 0.2 after");
        figure.series.push(series);
    }
    let copy = [(64.0, 9.0e9), (1_048_576.0, 1.1e10)].map(|(x, y)| Point::new(x, y));
    figure.series.push(Series::new("floor: copy", copy).drawn(Drawn::Line));
    figure
}

fn percentile_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Percentiles,
        "percentiles",
        "Percentiles of the round trip, workers within one cache",
        "Median over launches of each launch's percentile, as deep as the samples support.",
        Axis::new("percentile", Unit::Share, Scale::Tail),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    for (at, (name, _, latency, _)) in MECHANISMS.iter().enumerate() {
        let percentiles = [0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
        let points = percentiles.map(|p: f64| {
            let tail = -(1.0 - p).log10();
            let value = latency * (0.92 + 0.04 * tail + 0.012 * tail.powf(3.0 + scatter(at)));
            Point::new(p, value).between(value * 0.97, value * (1.03 + 0.02 * tail))
        });
        figure.series.push(Series::new(*name, points));
    }
    figure
}

fn heatmap_figure() -> Figure {
    let cpus = (0..6).map(|cpu| format!("CPU {cpu}"));
    let mut figure = Figure::new(
        FigureKind::Heatmap,
        "placement",
        "Round trip by pair of CPUs",
        "Median round trip over a pipe, sender down the side, receiver along the foot.",
        Axis::categories("receiver", cpus.clone()),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    for (row, name) in cpus.enumerate() {
        let points = (0..6).map(|column| {
            let base = if row == column { 4_100.0 } else { 9_600.0 };
            let far = if row / 3 == column / 3 { 1.0 } else { 1.6 };
            match (row, column) {
                (5, 5) => Point::gap(5.0, "CPU 5 is offline"),
                _ => {
                    Point::new(column as f64, base * far * (1.0 + 0.1 * scatter(row * 6 + column)))
                }
            }
        });
        figure.series.push(Series::new(name, points));
    }
    figure
}

fn breakdown_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Bars,
        "breakdown",
        "Where a round trip goes",
        "Kernel events of observed launches; the price of observing is in the text.",
        Axis::categories("mechanism", ["pipe", "unix-stream", "tcp", "futex"]),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Linear),
    );
    let totals = [4_120.0, 5_310.0, 11_700.0, 3_540.0];
    let parts = [
        ("system calls", [0.2, 0.25, 0.4, 0.18]),
        ("copying", [0.08, 0.1, 0.06, 0.0]),
        ("wake-up", [0.52, 0.48, 0.38, 0.6]),
        ("switching", [0.2, 0.17, 0.16, 0.22]),
    ];
    for (part, shares) in parts {
        let points = (0..4).map(|at| Point::new(at as f64, shares[at] * totals[at]));
        figure.series.push(Series::new(part, points));
    }
    figure
}

fn frontier_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Scatter,
        "frontier",
        "Latency against CPU time",
        "Left is faster, down is cheaper; what lies beyond the dashed line is beaten in both.",
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
        Axis::new("CPU time per round trip", Unit::Nanoseconds, Scale::Log),
    );
    let point = |name: &str, latency: f64, share: f64| {
        let cpu = latency * share;
        Point::new(latency, cpu).between(cpu * 0.97, cpu * 1.05).labelled(name)
    };
    let sleeping = MECHANISMS[1..9].iter().enumerate();
    let sleeping = sleeping.map(|(at, entry)| point(entry.0, entry.2, 0.6 + 0.2 * scatter(at)));
    figure.series = vec![
        Series::new("sleeps", sleeping),
        Series::new("spins", [point("shm-ring:wait=spin", 236.0, 2.0)]),
        Series::new(
            "the frontier",
            [(236.0, 9e4), (236.0, 472.0), (9e4, 472.0)].map(|(x, y)| Point::new(x, y)),
        )
        .drawn(Drawn::Line),
    ];
    figure
}

fn time_series_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::TimeSeries,
        "samples",
        "Samples over time",
        "Median of each slice, from its smallest sample to its p99, launch by launch.",
        Axis::new("round", Unit::Count, Scale::Linear),
        Axis::new("time per round trip", Unit::Nanoseconds, Scale::Log),
    );
    for (at, name) in ["pipe, 64 B", "futex, 64 B"].into_iter().enumerate() {
        let mut points = Vec::new();
        for nth in 0..500 {
            if nth > 0 && nth % 100 == 0 {
                points.push(Point::gap(nth as f64 / 100.0 + 0.5, ""));
            }
            let level = if (230..300).contains(&nth) { 5_200.0 } else { 4_100.0 };
            let median = level * (1.0 + 0.02 * scatter(nth + at * 997));
            let x = nth as f64 / 100.0 + 0.55;
            let point = Point::new(x, median).between(median * 0.96, median * 1.4);
            points.push(point);
        }
        figure.series.push(Series::new(name, points));
    }
    figure
}

fn grouped_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::GroupedBars,
        "beside",
        "Round trips beside printed figures",
        "The median over launches, and what covers it with at least 95 %. Signs: as printed.",
        Axis::categories("placement", ["one CPU", "two CPUs, one cache", "two memory nodes"]),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Linear),
    );
    for (at, (name, value)) in [("pipe", 4_120.0), ("unix-stream", 5_310.0)].iter().enumerate() {
        let points = [1.0, 2.4].map(|factor| value * factor);
        let points = points
            .into_iter()
            .enumerate()
            .map(|(nth, value)| Point::new(nth as f64, value).between(value * 0.9, value * 1.07));
        let gap = Point::gap(2.0, "the machine has one memory node");
        figure.series.push(Series::new(*name, points.chain([gap])));
        let printed = Point::new(Figure::slot(at, 2), value * 2.2).labelled("printed: 9 us");
        let elsewhere = ["a machine of 2009", "another of 2012"][at];
        figure.series.push(Series::new(elsewhere, [printed]).drawn(Drawn::Signs));
    }
    figure
}

fn box_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Boxes,
        "boxes",
        "Launches of a round trip",
        "Box: quartiles of the launches; whiskers: to the smallest and the largest.",
        Axis::categories("mechanism", names()),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    for (column, placement) in ["same-cpu", "same-llc"].iter().enumerate() {
        let points = MECHANISMS.iter().enumerate().map(|(at, mechanism)| {
            let value = [mechanism.1, mechanism.2][column];
            if !value.is_finite() {
                return Point::gap(at as f64, "not run: spinning on one CPU");
            }
            let wide = 1.05 + 0.2 * scatter(at + 7);
            Point::new(at as f64, value)
                .between(value / wide, value * wide)
                .within(value / wide / 1.1, value * wide * 1.5)
        });
        figure.series.push(Series::new(*placement, points));
    }
    figure
}

fn protocol_figure() -> Figure {
    let message = |from, to, label: &str| Step::Message { from, to, label: label.to_string() };
    let protocol = Protocol {
        parties: ["initiator", "responder"].map(str::to_string).to_vec(),
        steps: vec![
            Step::Act { by: 0, label: "connect".into() },
            message(0, 1, "message 1, 64 KiB"),
            Step::More { label: "as many as the transfer holds".into() },
            message(0, 1, "message n"),
            message(1, 0, "acknowledgement, 1 byte"),
        ],
        timed: Some([1, 4]),
        timed_label: "one transfer".into(),
    };
    let caption = "Many messages one way, then one byte back, which stops the clock.";
    Figure::of_protocol("protocol", "What a transfer holds", caption, protocol)
}

fn latency_table() -> Table {
    let columns = vec![
        Column::text("mechanism", 0),
        Column::number("median", 0),
        Column::text("96 % interval", 1),
        Column::number("p99", 1),
        Column::number("× floor", 2),
        Column::number("launches", 3).unit("n"),
        Column::text("steady", 4),
    ];
    let rows = MECHANISMS.iter().enumerate().map(|(at, (name, value, _, _))| {
        let cells = [
            Text::new().code(*name),
            Text::from(duration(*value)),
            Text::from(format!("{} – {}", duration(value * 0.98), duration(value * 1.03))),
            Text::from(duration(value * 1.4)),
            Text::from(ratio(value / 1_480.0)),
            Text::from("20"),
            Text::from(if at == 7 { "11 of 20" } else { "20 of 20" }),
        ];
        let emphasis = match at {
            0 | 9 => Emphasis::Muted,
            5 => Emphasis::Best,
            7 => Emphasis::Warning,
            _ => Emphasis::Normal,
        };
        Row::new(cells).emphasis(emphasis)
    });
    Table {
        id: String::new(),
        caption: "Round trip on one CPU, 64-byte messages".to_string(),
        columns,
        rows: rows.collect(),
        notes: vec![Text::new().code("noop").plain(" moves nothing: it shows what ipcmark costs.")],
    }
}

fn answers() -> Section {
    let equivalent = Text::new()
        .code("unix-stream")
        .plain(" and ")
        .code("unix-seqpacket")
        .plain(" are equivalent");
    Section::new("answer", "What is best here")
        .with(Verdict::new(
            VerdictKind::Good,
            Text::new().code("futex").plain(" is fastest on one CPU: 3.54 µs, 1.09× ahead"),
            "Best set of one, 20 paired rounds, Holm-corrected p = 0.0004. Next is eventfd, \
             3.87 µs [3.81, 3.93].",
        ))
        .with(Verdict::new(
            VerdictKind::Neutral,
            equivalent,
            "Within 2 %: two one-sided tests, ratio 1.01 [1.00, 1.02].",
        ))
        .with(Verdict::new(
            VerdictKind::Bad,
            Text::new().code("tcp").plain(" costs 2.84× a pipe for small messages"),
            "2.84× [2.79, 2.90] over 20 rounds.",
        ))
        .with(Verdict::new(
            VerdictKind::Unknown,
            "Whether SMT siblings help is not testable here",
            "The machine shows one thread per core. Run where lscpu lists siblings.",
        ))
        .with(Block::paragraph(
            Text::new()
                .plain("For ")
                .strong("bulk data")
                .plain(" take a shared-memory ring: ")
                .code("shm-ring:wait=futex")
                .plain(format!(" moves {} at 64 KiB, ", rate(6.8e9)))
                .muted("payload written and read, binary units."),
        ))
        .with(Block::warning("CPU frequency could not be read: the guest hides it. Ratios hold."))
        .with(Block::warning(Text::new().code("udp").plain(" had no steady tail in 9 launches.")))
}

fn machine() -> Vec<(String, String)> {
    let named = [
        ("CPU", "AMD EPYC 9R14, family 25 model 17 stepping 1, microcode 0xa101148"),
        ("caches", "32 KiB L1d, 1 MiB L2, 32 MiB L3 shared by both CPUs"),
        ("governor", "not readable in this guest"),
        ("hypervisor", "KVM, halt polling 200 µs"),
        ("mitigations", "spectre_v2: Enhanced IBRS; spec_store_bypass: prctl"),
    ];
    let numbered = (6..=31).map(|n| (format!("kernel.setting_{n}"), (n * 512).to_string()));
    let named = named.map(|(key, value)| (key.to_string(), value.to_string()));
    named.into_iter().chain(numbered).collect()
}

/// The whole document.
pub fn sample() -> Document {
    let mut document = Document::new("How processes talk on build-07");
    document.subtitle = "Ten mechanisms, two placements, 20 rounds in random order".to_string();
    document.meta = [
        ("machine", "AMD EPYC 9R14, 2 CPUs, KVM guest"),
        ("kernel", "Linux 6.12.8, PREEMPT_DYNAMIC"),
        ("measured", "2026-02-11 09:14 UTC"),
        ("run", "a41f, seed 7261"),
    ]
    .map(|(key, value)| (key.to_string(), value.to_string()))
    .to_vec();
    document.sections = vec![
        answers(),
        Section::new("latency", "Latency")
            .with(latency_figure())
            .with(latency_table())
            .with(percentile_figure())
            .with(box_figure())
            .with(grouped_figure()),
        Section::new("throughput", "Throughput").with(throughput_figure()).with(protocol_figure()),
        Section::new("why", "Where the time goes")
            .with(breakdown_figure())
            .with(heatmap_figure())
            .with(frontier_figure())
            .with(time_series_figure()),
        Section::new("how", "How it was measured")
            .with(Block::List(vec![
                "One launch is one draw: statistics are over launches, never over messages.".into(),
                "Cases were interleaved in random order and paired within rounds.".into(),
            ]))
            .with(Block::Facts(machine()))
            .with(Block::Details {
                summary: "The order of the rounds".into(),
                blocks: vec![Block::paragraph("pipe, futex, tcp, …")],
            }),
    ];
    document
}
