//! Every command that the program or its documents tell a person to type is one: found in the sources and the
//! documents, and parsed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::{Cli, bare, config, parse};

/// What stands in commands for something of the reader's, or of the run, and a word of that kind.
const NAMES: [(&str, &str); 15] = [
    ("FORMAT", "json"),
    ("RUN…", "1"),
    ("RUN", "1"),
    ("NAME|FILE", "001"),
    ("NAME", "x"),
    ("FILE", "x.json"),
    ("DIR", "x"),
    ("SHELL", "bash"),
    ("HOST", "host"),
    ("TIME", "10s"),
    ("MECHANISM", "pipe"),
    ("A", "1"),
    ("B", "2"),
    ("N", "3"),
    ("COMMAND", "sh"),
];
/// What a `{}` of a format string may be.
const FILLINGS: [&str; 6] = ["1", "", "10m", "pipe", "list", "same-cpu"];

/// Why words are no command line of this program; None where they are.
fn refusal(words: &[String]) -> Option<String> {
    let words = bare::with_command(words.iter().map(OsString::from).collect());
    match parse(&config::Config::default(), &words.all) {
        Ok(_) => None,
        Err(error) if error.exit_code() == 0 => None,
        Err(error) => Some(super::in_one_line(&error)),
    }
}

/// The words of the first command of this program in a line that a shell would take.
fn typed(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    let begins = |word: &String| word == "ipcmark" || word.ends_with("/ipcmark");
    let start = words.iter().position(begins)?;
    let ends = |word: &&String| {
        !["|", ">", ">>", "<", "&&", "||", ";", "&", "2>&1"].contains(&word.as_str())
    };
    let mut found: Vec<String> = Vec::new();
    for word in words[start..].iter().take_while(ends) {
        let named = NAMES.iter().find(|(name, _)| name == word).map(|(_, like)| like.to_string());
        let last = word.strip_suffix([';', ')']).filter(|_| named.is_none());
        // One of several: `json|csv`.
        let first = last.unwrap_or(word).split('|').next().unwrap_or_default();
        found.push(named.unwrap_or_else(|| first.to_string()));
        if last.is_some() {
            break;
        }
    }
    Some(found)
}

/// The spans of a text between two ticks, on one line or two.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of the literals of a source, a line each: without comments and tests.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "' '").replace("\\\"", "''");
    code.split('"')
        .skip(1)
        .step_by(2)
        .map(|text| {
            text.split("\\\n").map(str::trim_start).collect::<Vec<_>>().join(" ").replace("  ", " ")
        })
        .collect()
}

/// The literal with each of its places filled in.
fn filled(text: &str, with: &str) -> String {
    let mut filled = String::new();
    for (nth, part) in text.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, rest)) if nth > 0 => filled += &format!("{with}{rest}"),
            _ => filled += part,
        }
    }
    filled
}

#[test]
fn every_command_that_is_printed_is_a_command_line() {
    let mut sources = Vec::new();
    files(&root().join("src"), "rs", &mut sources);
    for krate in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        files(&krate.path().join("src"), "rs", &mut sources);
    }
    let (mut wrong, mut found) = (Vec::new(), 0);
    // They name the program, and no command.
    let no_commands = ["src/cli/printed.rs", "model/src/tool.rs"];
    for path in
        sources.iter().filter(|path| !no_commands.iter().any(|command| path.ends_with(command)))
    {
        let text = std::fs::read_to_string(path).unwrap();
        for literal in literals(&text) {
            let lines = || literal.split("\\n").map(str::trim);
            let is_whole =
                |line: &&str| line.starts_with("ipcmark ") || line.starts_with("taskset ");
            let whole = lines().filter(is_whole);
            for line in lines().filter(|line| !is_whole(line)) {
                for (at, _) in line.match_indices(" ipcmark ") {
                    let next = line[at + 9..].split([' ', '{']).next().unwrap_or_default();
                    let is_quoted = line[..at].matches('`').count() % 2 == 1;
                    if Cli::command().find_subcommand(next).is_some() && !is_quoted {
                        wrong.push(format!("{}: put it between ticks: {line}", path.display()));
                    }
                }
            }
            let quoted = spans(&literal).filter(|span| {
                *span == "ipcmark" || span.starts_with("ipcmark ") || span.starts_with("taskset ")
            });
            for command in quoted.chain(whole) {
                found += 1;
                let refusals: Vec<String> = FILLINGS
                    .iter()
                    .map_while(|with| refusal(&typed(&filled(command, with)).unwrap_or_default()))
                    .collect();
                if refusals.len() == FILLINGS.len() {
                    wrong.push(format!("{}: `{command}`: {}", path.display(), refusals[0]));
                }
            }
            for flag in spans(&literal).filter(|span| span.starts_with("--")) {
                let name = flag[2..].split([' ', '=']).next().unwrap_or_default();
                if !name.contains('{') && !knows(&Cli::command(), name) {
                    wrong.push(format!("{}: `{flag}`: no command has it", path.display()));
                }
            }
        }
    }
    assert!(found > 60, "only {found} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn knows(command: &clap::Command, flag: &str) -> bool {
    let mut own = command.get_arguments().filter_map(|arg| arg.get_long_and_visible_aliases());
    own.any(|names| names.contains(&flag))
        || command.get_subcommands().any(|below| knows(below, flag))
}

/// The commands of a document, and whether each is to be typed: in fences line by line (behind `$`, where there is
/// output too), elsewhere between ticks, where a command may be named alone.
fn commands(text: &str) -> Vec<(String, bool)> {
    let (mut found, mut prose) = (Vec::new(), String::new());
    for (nth, part) in text.split("```").enumerate() {
        if nth % 2 == 0 {
            prose += part;
            continue;
        }
        prose.push('\n');
        let has_output = part.lines().any(|line| line.trim_start().starts_with("$ "));
        let joined = part.replace("\\\n", " ");
        for line in joined.lines().map(str::trim) {
            if has_output && !line.starts_with("$ ") {
                continue;
            }
            let line = line.trim_start_matches("$ ");
            let first = line.split(' ').find(|word| !word.contains('=') && *word != "sudo");
            // What a file of ours begins with is no command.
            let is_version = line.starts_with(concat!("ipcmark ", env!("CARGO_PKG_VERSION")));
            let is_ours = first.is_some_and(|word| word == "ipcmark" || word.ends_with("/ipcmark"));
            if is_ours && !is_version {
                found.push((line.to_string(), true));
            }
        }
    }
    let quoted = spans(&prose).map(|span| span.replace('\n', " "));
    let ours = quoted.filter(|span| span == "ipcmark" || span.starts_with("ipcmark "));
    found.extend(ours.map(|span| (span, false)));
    found
}

/// Whether words lack only what follows them: as in "`ipcmark choose` asks for a need".
fn is_named(why: &str) -> bool {
    let lacks = ["required arguments were not provided", "no command given", "a value is required"];
    lacks.iter().any(|lack| why.contains(lack))
}

#[test]
fn every_command_of_the_documents_is_a_command_line() {
    let mut documents = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    files(&root().join("docs"), "md", &mut documents);
    files(&root().join("docs"), "sh", &mut documents);
    let (mut wrong, mut found) = (Vec::new(), 0);
    for path in &documents {
        let text = std::fs::read_to_string(path).unwrap();
        for (command, is_typed) in commands(&text) {
            found += 1;
            // What stands for several words, or none.
            let command = command.replace("...", " ").replace('…', " ").replace(['[', ']'], " ");
            let words = typed(&command).unwrap_or_default();
            if let Some(why) = refusal(&words).filter(|why| is_typed || !is_named(why)) {
                wrong.push(format!("{}: `{command}`: {why}", path.display()));
            }
        }
    }
    assert!(found > 100, "only {found} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_is_found_where_it_stands() {
    let text = "Say `ipcmark run\npipe`, not `pipe`.\n```sh\n$ IPCMARK_STORE=x sudo ipcmark run tcp \\\n  -s 64 | head\nls\n```\n";
    let found = commands(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].1 && !found[1].1);
    assert_eq!(typed(&found[0].0).unwrap(), ["ipcmark", "run", "tcp", "-s", "64"]);
    assert_eq!(typed(&found[1].0).unwrap(), ["ipcmark", "run", "pipe"]);
    assert!(refusal(&["ipcmark".into(), "--budgett".into()]).is_some());
    let source = "// `ipcmark no`\nlet x = \"a `ipcmark \\\n     report {run}`\";\n";
    assert_eq!(filled(&literals(source)[0], "1"), "a `ipcmark report 1`");
}
