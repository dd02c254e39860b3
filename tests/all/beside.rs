//! Launches beside a load (`--beside`): what runs beside runs while the workers are timed and at no other time, is
//! missed where it doesn't, and never outlives its launch; and what a run says of it. No speed is asserted.

use std::time::Duration;

use crate::cli_support::{Bench, list, must_fit_the_schema, number, parse, results, send};
use crate::common::launching::{conclude, endless, quick, reach, start};
use crate::common::proc::{Process, children, soon};
use crate::common::say;
use model::company::Company;
use model::launch::{Outcome, Workers};
use run::launch::{Spec, Stage};
use rustix::process::Signal;

const SOON: Duration = Duration::from_secs(10);

/// A launch beside a load on CPU 0, that would time for minutes, under way: its supervisor and what runs beside.
fn under_way(company: Company) -> (run::launch::Launch, i32, Vec<i32>) {
    let cpu = Some(0);
    let spec = Spec { initiator_cpu: cpu, responder_cpu: cpu, ..endless("pipe", Workers::Process) };
    let mut launch = start(&Spec { beside: Some(company), ..spec });
    let supervisor = launch.pid() as i32;
    reach(&mut launch, Stage::Ready);
    let family = children(supervisor);
    assert_eq!(family.len(), 3, "two workers, and what runs beside");
    let beside = family[2..].to_vec();
    let asleep = |pid: &i32| Process::read(*pid).is_some_and(|text| text.state == 'S');
    assert!(soon(SOON, || beside.iter().all(asleep)), "others may be timed now");
    launch.go();
    let busy = |pid: &i32| Process::read(*pid).is_some_and(|text| text.state == 'R');
    assert!(soon(SOON, || beside.iter().all(busy)), "{company}");
    (launch, supervisor, beside)
}

#[test]
fn a_launch_says_how_much_cpu_time_its_company_had() {
    for (company, had) in [(None, false), (Some(Company::Hog), true), (Some(Company::Memory), true)]
    {
        let record = conclude(start(&Spec { beside: company, ..quick("pipe", 64) })).record;
        assert_eq!(record.outcome, Outcome::Ok, "{company:?}");
        assert_eq!(record.company_ns.is_some_and(|number| number > 0), had, "{company:?}");
    }
}

#[test]
fn nothing_outlives_a_supervisor_that_is_killed_nor_a_launch_that_nobody_wants() {
    for company in [Company::Hog, Company::Memory] {
        let (launch, supervisor, _) = under_way(company);
        assert!(send(supervisor, Signal::KILL), "it lives");
        assert!(soon(SOON, || Process::in_group(supervisor).is_empty()), "{company}: killed");
        drop(launch);
        let (launch, supervisor, _) = under_way(company);
        // As where the coordinator is gone: nobody holds the other end of the supervisor's streams.
        drop(launch);
        assert!(soon(SOON, || Process::in_group(supervisor).is_empty()), "{company}: given up");
    }
}

#[test]
fn a_launch_whose_company_has_died_is_no_launch_in_company() {
    let mut launch = start(&Spec { beside: Some(Company::Hog), ..quick("pipe", 64) });
    let supervisor = launch.pid() as i32;
    reach(&mut launch, Stage::Ready);
    let hog = children(supervisor)[2];
    assert!(send(hog, Signal::KILL), "it lives");
    assert!(soon(SOON, || Process::read(hog).is_none_or(|text| text.state == 'Z')));
    launch.go();
    let _ = launch.reach(Stage::Timed, crate::common::launching::interrupt());
    launch.end();
    let record = launch.collect(crate::common::launching::interrupt()).record;
    let Outcome::Failed { reason } = record.outcome else { panic!("{:?}", record.outcome) };
    assert!(reason.contains("hog") && reason.contains(&hog.to_string()), "{reason}");
    assert!(soon(SOON, || Process::in_group(supervisor).is_empty()));
}

#[test]
#[ignore = "long form"]
fn each_level_stands_beside_the_quiet_launches_of_every_round() {
    let bench = Bench::new();
    let words = "run pipe unix-stream -w latency -s 64 -p same-cpu --launches 6 --samples 50 \
                 --beside quiet,hog,memory,quota --seed 3";
    bench.must(words);
    let document = bench.export();
    must_fit_the_schema(&document);
    let results = results(&document);
    let plain = results.iter().filter(|result| result["twin"] == false).count();
    assert_eq!(plain, 2, "what had company is no result");
    let beside = list(&document["beside"]);
    assert_eq!(beside.len(), 2 * 3, "a row for each level of each case, whatever became of it");
    for row in beside {
        let is_quota = row["beside"] == "quota";
        if is_quota && row["status"] != "ok" {
            let reason = row["reason"].as_str().expect("why");
            assert!(reason.contains("leave quota out") || reason.contains("boot with"), "{row}");
            say(&format!("skipped quota: {reason}"));
            continue;
        }
        assert_eq!((&row["status"], &row["rounds"]), (&"ok".into(), &6.into()), "{row}");
        for ratio in [&row["median"], &row["whole"]] {
            let [low, ratio, high] = ["low", "ratio", "high"].map(|end| ratio[end].as_f64());
            assert!(0.0 < low.unwrap() && low <= ratio && ratio <= high, "{row}");
        }
        assert!(row["verdict"].is_string() && row["p"].is_number(), "{row}");
    }
    let launched = "SELECT count(*) FROM launches l JOIN cases c ON c.id = l.case_id
         WHERE c.levels ->> 'beside' = 'hog' AND l.round > 0";
    assert_eq!(number(&bench.open(), launched), 2 * 6);
}

#[test]
fn a_study_varies_what_runs_beside_and_a_claim_may_name_it() {
    let bench = Bench::new();
    let text = r#"version = 1
title = "Company"
question = "What does a hog do?"
[variables]
cause = { beside = "what runs beside" }
effect = { latency = "round trip" }
[fixed]
mechanism = "pipe"
launches = 6
samples = 50
[vary]
beside = ["quiet", "hog"]
[[hypothesis]]
statement = "A quiet round trip is quicker than one beside a hog"
test = "faster"
left = { beside = "quiet" }
right = { beside = "hog" }
"#;
    bench.put("s.toml", text);
    let document = parse(&bench.run("study run ./s.toml --seed 3 --format json").out);
    assert_eq!(document["beside"].as_array().map(Vec::len), Some(1));
    let claim = &document["claims"][0];
    assert!(claim["reason"].is_null() && claim["effect"].is_number(), "{claim}");
}
