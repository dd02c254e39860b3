//! Examples at the end of every `--help`: what is typed, and what it is for. A test parses each.

use clap::Command;

use super::exit_codes;

/// A command with its examples, each with its meaning.
type Examples = (&'static str, &'static [(&'static str, &'static str)]);

const EXAMPLES: [Examples; 31] = [
    (
        "ipcmark",
        &[
            ("ipcmark", "every mechanism of this machine, and report.html"),
            ("ipcmark --budget 10m", "the same, with more time: flags are those of `run`"),
            ("ipcmark run uds tcp", "two of them"),
            ("ipcmark report -v", "every result of the newest run"),
        ],
    ),
    (
        "run",
        &[
            ("ipcmark run pipe uds tcp -s 64,4KB,64KiB", "three mechanisms, three sizes"),
            ("ipcmark run shm:wait=spin -p 0,1 --duration 30s", "on two CPUs, for half a minute"),
            ("ipcmark run pipe -p all", "between every two CPUs: a matrix"),
            ("ipcmark run tcp -w rate --rate 10k", "response times under load"),
            (
                "ipcmark run tcp pipe -w capacity --bound p99:200us",
                "the largest load within a bound",
            ),
            ("ipcmark run -w throughput --export-csv a.csv", "also write a table"),
            ("ipcmark run tcp --peer 'ssh host'", "to another host"),
        ],
    ),
    (
        "ab",
        &[
            ("ipcmark ab '' 'chrt -f 50' -p free", "does a real-time class help?"),
            ("ipcmark ab '' './other/ipcmark launch' pipe tcp", "two builds"),
            ("ipcmark ab 'env X=0' 'env X=1' tcp --gate 5%", "exit with 3 if the second is slower"),
        ],
    ),
    ("floor", &[("ipcmark floor --html floor.html", "with the heat map of cache lines")]),
    ("list", &[("ipcmark list --format json", "for a program")]),
    (
        "doctor",
        &[
            ("ipcmark doctor", "the CPUs that a run would choose"),
            ("ipcmark doctor --cpus 0", "this CPU"),
        ],
    ),
    (
        "choose",
        &[
            (
                "ipcmark choose --size 1K --response 4K --rate 50k --connections 16 --bound p99:200us",
                "a request service with 16 clients",
            ),
            (
                "ipcmark choose --size 64 --rate 10k --bound p99.9:50us --blocking",
                "nothing that busy-waits",
            ),
        ],
    ),
    ("explain", &[("ipcmark explain pipe uds --teach", "why one is slower than the other")]),
    ("study", &[("ipcmark study list", "the built-in studies")]),
    ("study list", &[("ipcmark study list", "each with its question")]),
    ("study show", &[("ipcmark study show 001", "its text, to copy and change")]),
    (
        "study run",
        &[
            ("ipcmark study run 001 --dry-run", "what it would measure, and for how long"),
            ("ipcmark study run my.toml --html page.html", "one of your own"),
        ],
    ),
    (
        "runs",
        &[
            ("ipcmark runs", "numbers and labels, for report, export and compare"),
            ("ipcmark runs --format json", "for a program"),
            ("ipcmark runs --html pages", "pages/index.html, with a page of each"),
            ("ipcmark runs rm 3 before", "remove two of them for good"),
        ],
    ),
    ("runs rm", &[("ipcmark runs rm 3 before", "by number and label")]),
    (
        "compare",
        &[
            ("ipcmark compare last~1 last", "has anything changed?"),
            ("ipcmark compare before after --gate 5%", "exit with 3 where one is slower"),
            ("ipcmark compare good last --gate 5% --bisect", "in a script of `git bisect run`"),
        ],
    ),
    (
        "report",
        &[
            ("ipcmark report -v", "every result of the newest run"),
            ("ipcmark report 3 --html page.html", "its page with the figures"),
            ("ipcmark report run.json", "the results in an export"),
        ],
    ),
    (
        "export",
        &[
            ("ipcmark export --format csv -o run.csv", "a row per case and metric"),
            ("ipcmark export --format samples -o samples.npy", "every sample, for numpy"),
            ("ipcmark export last~1 --format hgrm -o spectra/", "a spectrum per case"),
        ],
    ),
    ("schema", &[("ipcmark schema results", "of the JSON that `ipcmark export` writes")]),
    (
        "fleet",
        &[
            ("ipcmark fleet --nodes a,b,c --launcher 'ssh {node}'", "all pairs of three hosts"),
            ("ipcmark fleet --simulate 16 --html rack.html", "what the page looks like"),
        ],
    ),
    (
        "lab",
        &[
            ("ipcmark lab up --routers 2 --loss 1%", "two hosts, far apart"),
            ("ipcmark lab exec a -- ip route", "a command in one of them"),
            ("ipcmark lab down", "removes it"),
        ],
    ),
    ("engine", &[("ipcmark engine check ./libmine.so", "is it correct? in seconds")]),
    (
        "engine check",
        &[
            ("ipcmark engine check ./libmine.so", "a plug-in"),
            ("ipcmark engine check engines/python/engine.toml", "an engine"),
        ],
    ),
    ("engine list", &[("ipcmark engine list", "those that a run finds by name")]),
    ("engine new", &[("ipcmark engine new c mine", "a plug-in in the folder mine")]),
    ("clean", &[("ipcmark clean", "after a run was killed")]),
    ("completions", &[("ipcmark completions zsh > ~/.zfunc/_ipcmark", "for zsh")]),
    ("man", &[("ipcmark man | man -l -", "the manual, installed or not")]),
    ("lab exec", &[("ipcmark lab exec b -- ip route", "its routes")]),
    ("lab status", &[("ipcmark lab status", "the laboratories and their lines")]),
    ("lab down", &[("ipcmark lab down --kill", "and kill what runs in it")]),
    ("lab up", &[("ipcmark lab up --delay 10ms --rate 100mbit", "a slow line")]),
];

/// `command` and those below it with their examples at the end of their help.
pub fn put(command: Command) -> Command {
    put_at(command, "")
}

fn put_at(command: Command, above: &str) -> Command {
    let path = format!("{above}{}", command.get_name());
    let below = if command.get_name() == "ipcmark" { String::new() } else { format!("{path} ") };
    let command = match EXAMPLES.iter().find(|(of, _)| *of == path) {
        None => command,
        Some((_, examples)) => {
            let codes = exit_codes::in_help(&path);
            command.after_help(text(examples) + &codes)
        }
    };
    command.mut_subcommands(|command| put_at(command, &below))
}

fn text(examples: &[(&str, &str)]) -> String {
    let line = |(words, meaning): &(&str, &str)| format!("  {words}\n      {meaning}\n");
    format!("Examples:\n{}", examples.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, bare};
    use super::*;
    use clap::{CommandFactory, Parser};

    #[test]
    fn every_example_is_a_command_line() {
        for (of, examples) in EXAMPLES {
            for (words, _) in examples {
                let typed = words.split(['|', '>']).next().unwrap();
                let typed = shlex::split(typed).unwrap().into_iter().map(Into::into).collect();
                let parsed = Cli::try_parse_from(bare::with_command(typed).all).err();
                assert!(parsed.is_none(), "{of}: {words}: {}", parsed.unwrap());
            }
        }
    }

    #[test]
    fn every_help_ends_with_examples_of_its_command() {
        fn walk(command: &Command, path: &str) {
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            for below in shown.filter(|command| command.get_name() != "help") {
                let path = format!("{path} {}", below.get_name());
                let text = below.get_after_help().map(ToString::to_string).unwrap_or_default();
                let begun = path.split(' ').nth(1).unwrap();
                assert!(text.contains(&format!("  ipcmark {begun}")), "{path}: {text}");
                walk(below, &path);
            }
        }
        walk(&put(Cli::command()), "ipcmark");
    }
}
