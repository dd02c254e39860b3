//! Which cases of a study are observed, and which are left out.

use study::validated::validate;

use super::Case;
use super::tests::planned;

const STUDY: &str = r#"version = 1
title = "Small"
question = "Does looking matter?"
[variables]
cause = { size = "bytes of a message", observe = "instrumentation" }
effect = { latency = "round trip" }
[vary]
mechanism = ["pipe", "unix-stream"]
size = ["64", "4K"]
observe = ["none", "software", "trace:times=2"]
[observed]
mechanism = "pipe"
size = "4K"
"#;

#[test]
fn probes_keep_to_the_levels_that_they_are_given() {
    let declared = validate(STUDY, "s.toml", &workload::catalogue(&[])).unwrap();
    let plan = planned(&declared.request);
    // Whether a probe may look here or not, it is asked of one case alone.
    let all = plan.groups.into_iter().flat_map(|group| {
        group.cases.into_iter().chain(group.absent.into_iter().map(|absent| absent.case))
    });
    let (observed, plain): (Vec<Case>, Vec<Case>) =
        all.filter(|case| !case.twin).partition(|case| case.observe.is_some());
    assert_eq!(plain.len(), 4);
    let asked: Vec<_> = observed
        .iter()
        .map(|case| {
            (case.variant.to_string(), case.message_bytes, case.observe.unwrap().to_string())
        })
        .collect();
    let one = |probe: &str| ("pipe".to_string(), Some(4096), probe.to_string());
    assert_eq!(asked, [one("software"), one("trace:times=2")]);
}

#[test]
fn what_is_excepted_is_no_case() {
    let cases = |more: &str| {
        let text =
            STUDY.split("[observed]").next().unwrap().replace("\"trace:times=2\"", "\"calls\"");
        let declared = validate(&format!("{text}{more}"), "s.toml", &workload::catalogue(&[]))?;
        let plan = planned(&declared.request);
        let all = plan.groups.into_iter().flat_map(|group| {
            group.cases.into_iter().chain(group.absent.into_iter().map(|absent| absent.case))
        });
        let plain = all.filter(|case| !case.twin && case.observe.is_none());
        Ok::<_, String>(plain.map(|case| (case.variant.to_string(), case.message_bytes)).collect())
    };
    let all: Vec<_> = cases("").unwrap();
    assert_eq!(all.len(), 4);
    let except = "[[vary.except]]\nmechanism = \"pipe\"\nsize = [\"4K\", \"64\"]\n\
                  [[vary.except]]\nmechanism = [\"unix-stream\"]\nsize = \"64\"\n";
    assert_eq!(cases(except).unwrap(), [("unix-stream".to_string(), Some(4096))]);
    let stray = cases("[[vary.except]]\nsize = \"8K\"\n").unwrap_err();
    assert!(stray.starts_with("s.toml:12:") && stray.contains("`8K`"), "{stray}");
    assert!(cases("[[vary.except]]\n").unwrap_err().contains("names no level"));
}

#[test]
fn nothing_looks_at_workers_that_have_many_threads_or_processes() {
    for (workload, effect, more) in [
        ("messaging", "messaging", ""),
        ("fan-out", "fan_out", ""),
        ("rate", "response", "connections = \"3\"\nserver = \"threads\"\n"),
        ("rate", "response", "server = \"threads\"\n"),
    ] {
        let text = format!(
            "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[fixed]\nmechanism = \"pipe\"\n\
             workload = \"{workload}\"\nsize = \"64\"\n{more}[variables]\n\
             cause = {{ observe = \"instrumentation\" }}\neffect = {{ {effect} = \"e\" }}\n\
             [vary]\nobserve = [\"none\", \"software\"]\n"
        );
        let declared = validate(&text, "s.toml", &workload::catalogue(&[])).unwrap();
        let plan = planned(&declared.request);
        let absent: Vec<_> = plan.groups.into_iter().flat_map(|group| group.absent).collect();
        let observed: Vec<_> =
            absent.iter().filter(|absent| absent.case.observe.is_some()).collect();
        assert_eq!(observed.len(), 1, "{workload}");
        assert!(observed[0].reason.contains("one thread of each worker"), "{}", observed[0].reason);
    }
}
