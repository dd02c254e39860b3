//! The command of a run, as it can be given to a shell again.

use std::borrow::Cow;

/// `ipcmark` and the words that followed it, quoted where a shell would take one apart.
pub fn command_line(argv: &[String]) -> String {
    let words = argv.iter().skip(1).map(|word| quoted(word));
    std::iter::once("ipcmark".into()).chain(words).collect::<Vec<Cow<str>>>().join(" ")
}

/// The same command with another time for measuring, `budget`.
pub fn with_budget(argv: &[String], budget: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        match word.split_once('=').map_or(word.as_str(), |(flag, _)| flag) {
            "--budget" | "--duration" if word.contains('=') => {}
            "--budget" | "--duration" => drop(words.next()),
            _ => kept.push(word.clone()),
        }
    }
    let end = kept.iter().position(|word| word == "--").unwrap_or(kept.len());
    kept.splice(end..end, ["--budget".to_string(), budget.to_string()]);
    command_line(&kept)
}

/// The words of our own that shells leave as they are stay readable: `tcp:nodelay=off`, `last~1`.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+=:,./~_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('~') {
        return word.into();
    }
    // Only a zero byte can't be quoted, and no argument holds one (execve(2)).
    shlex::try_quote(word).unwrap_or_else(|_| word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_budget_takes_the_place_of_the_one_that_was_given() {
        let longer = |line: &str| {
            with_budget(&line.split(' ').map(str::to_string).collect::<Vec<_>>(), "10m")
        };
        assert_eq!(longer("./ipcmark"), "ipcmark --budget 10m");
        let expected = "ipcmark run pipe -s 64 --budget 10m";
        for given in ["--budget 3s", "--duration 3s", "--budget=3s", "--duration=3s"] {
            assert_eq!(longer(&format!("ipcmark run {given} pipe -s 64")), expected);
        }
        assert_eq!(longer("ipcmark run -- pipe"), "ipcmark run --budget 10m -- pipe");
    }

    #[test]
    fn a_shell_takes_it_as_it_was_given() {
        let line = |words: &[&str]| {
            command_line(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(line(&["/usr/bin/ipcmark"]), "ipcmark");
        assert_eq!(
            line(&["ipcmark", "run", "tcp:nodelay=off", "-s", "1..1M:x4"]),
            "ipcmark run tcp:nodelay=off -s 1..1M:x4"
        );
        let given = ["ipcmark", "run", "--peer", "ssh -o 'A b' host", "", "~x", "last~1", "$HOME"];
        let said = line(&given);
        let script = format!("ipcmark() {{ printf '%s\\n' ipcmark \"$@\"; }}; {said}");
        let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap().lines().collect::<Vec<_>>(), given);
    }
}
