//! Every pair of CPUs: asked for by `-p all` or a range, shown as a matrix, exported as one. Where the machine
//! has two CPUs, more are written into the store.

use crate::cli_support::{Bench, edit, has, list, results, say};
use serde_json::Value;

const QUICK: &str = "-w latency --launches 2 --samples 20 -q";

/// A run of one case a size between CPUs 0 and 1; None where there are no such two.
fn measured(sizes: &str) -> Option<Bench> {
    let bench = Bench::new();
    let said = bench.run(&format!("run pipe -s {sizes} -p 0-1 {QUICK}"));
    if said.code == Some(2) && said.err.contains("CPU") {
        say("skipped pairs of CPUs: they take CPUs 0 and 1");
        return None;
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    Some(bench)
}

/// Makes the sizes of a run pairs of CPUs, in their order.
fn spread(bench: &Bench, pairs: &[(u64, u32, u32)]) {
    let one = |(size, a, b): &(u64, u32, u32)| {
        format!(
            "UPDATE cases SET levels = json_set(levels, '$.placement', '{a},{b}', '$.place.cpus',
                 json_array({a}, {b}), '$.message_bytes', 64)
             WHERE levels ->> 'message_bytes' = {size}"
        )
    };
    let all: Vec<String> = pairs.iter().map(one).collect();
    edit(&bench.open(), &all.join("; ")).unwrap();
}

fn medians(bench: &Bench) -> Vec<f64> {
    let json = bench.export();
    let ours = results(&json).iter().filter(|result| result["twin"] == false);
    ours.map(|value| value["value"]["median"].as_f64().unwrap()).collect()
}

#[test]
fn all_is_every_pair_and_a_range_some() {
    let Some(bench) = measured("64") else { return };
    let placements = |bench: &Bench| bench.export()["request"]["placements"].clone();
    assert_eq!(placements(&bench), serde_json::json!(["0,1"]));
    bench.must(&format!("run pipe -s 64 -p all {QUICK}"));
    let all = placements(&bench);
    let pairs = list(&all);
    assert!(pairs.contains(&Value::from("0,1")), "{all}");
    let online = std::thread::available_parallelism().unwrap().get();
    assert_eq!(pairs.len(), online * (online - 1) / 2, "{all}");
}

#[test]
fn the_matrix_is_square_and_says_what_it_holds() {
    let Some(bench) = measured("64,65,66") else { return };
    spread(&bench, &[(64, 0, 1), (65, 0, 2), (66, 2, 1)]);
    let of = medians(&bench);
    let csv = bench.must("export --format cpu-matrix").out;
    let cells: Vec<Vec<&str>> =
        csv.trim_end().split("\r\n").map(|line| line.split(',').collect()).collect();
    assert_eq!(cells[0], ["pipe round trip of 64 bytes in ns", "0", "1", "2"]);
    let heads: Vec<&str> = cells[1..].iter().map(|row| row[0]).collect();
    assert_eq!(heads, ["0", "1", "2"]);
    let near = |cell: &str, value: f64| (cell.parse::<f64>().unwrap() / value - 1.0).abs() < 1e-9;
    for (a, b, value) in [(0, 1, of[0]), (0, 2, of[1]), (1, 2, of[2])] {
        assert!(near(cells[a + 1][b + 1], value) && near(cells[b + 1][a + 1], value), "{csv}");
    }
    assert!((1..4).all(|nth| cells[nth][nth].is_empty()), "nothing is measured of one: {csv}");
    bench.must("export --format cpu-matrix -o maps/");
    assert_eq!(bench.read("maps/pipe_latency_64B_cpus_process.csv"), csv);

    let text = bench.must("report").out;
    let at = text.find("Between CPUs").unwrap_or_else(|| panic!("{text}"));
    has(&text[at..], &["pipe: round trip, 64 B", "there and back; one way"]);
    has(&bench.page_of("last"), &["Between CPUs", "CPU 2"]);
}

#[test]
fn many_cpus_are_shades_on_a_terminal() {
    let Some(bench) = measured("64,65,66,67,68") else { return };
    spread(&bench, &[(64, 0, 1), (65, 2, 3), (66, 4, 5), (67, 6, 7), (68, 8, 9)]);
    let text = bench.must("report").out;
    let at = text.find("Between CPUs").unwrap_or_else(|| panic!("{text}"));
    assert!(text[at..].contains("░░") && text[at..].contains("██"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_without_pairs_has_no_matrix() {
    let bench = Bench::new();
    bench.must(&format!("run pipe -s 64 -p same-cpu {QUICK}"));
    bench.run("export --format cpu-matrix").is_refused(&["ipcmark run -p all"]);
    assert!(!bench.must("report").out.contains("Between CPUs"));
}
