//! Programs that know the kernel's network: ip, tc, nft. Run inside a namespace, quiet when all is
//! well, quoted when not.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::LabError;
use super::space::Space;
use machine::interrupt::end_goes_on;
use machine::program;

/// Runs a program inside `space`, with `input` on its standard input. It holds `lock` as long as it
/// lives, also when the caller is killed meanwhile: cleaning up waits for it.
pub fn run(
    space: &Space,
    words: &[&str],
    input: &str,
    lock: Option<&File>,
) -> Result<(), LabError> {
    let stdout = match lock {
        Some(lock) => Stdio::from(lock.try_clone().map_err(LabError::of("hold the lock"))?),
        None => Stdio::null(),
    };
    call(space, words, input, stdout).map(drop)
}

/// Runs a program that changes nothing, and gives what it says.
pub fn listen(space: &Space, words: &[&str]) -> Result<String, LabError> {
    call(space, words, "", Stdio::piped())
}

fn call(space: &Space, words: &[&str], input: &str, stdout: Stdio) -> Result<String, LabError> {
    let (name, arguments) = words.split_first().unwrap_or((&"true", &[]));
    let path = program::find(name).map_err(|_| missing(name))?;
    let ran = space.inside(|| {
        let mut child = Command::new(path)
            .args(arguments)
            .env("LC_ALL", "C")
            // A signal from a terminal is this process's to handle: what it made is taken down by
            // further programs, which the next signal would hit.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            // A program that has given up says why by itself.
            let _ = pipe.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    // Where this is a part of an orderly end, a busy machine may take its time for each program.
    end_goes_on();
    let ran = ran.map_err(|error| LabError::Failed(format!("{name}: {error}")))?;
    if !ran.status.success() {
        let reason = reason_of(words, input, &String::from_utf8_lossy(&ran.stderr));
        return Err(LabError::Failed(reason));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

fn missing(name: &str) -> LabError {
    let package = if name == "nft" { "nftables" } else { "iproute2" };
    LabError::Unavailable(format!(
        "{name} is not on the path, and a laboratory is made with it: install it, as in \
         apt-get install {package}"
    ))
}

/// What failed, by the program's own words. Of a batch, iproute2 tells the line: `Command failed -:3`.
fn reason_of(words: &[&str], input: &str, said: &str) -> String {
    let failed = said.lines().find_map(|line| line.strip_prefix("Command failed -:"));
    let nth = failed.and_then(|nth| nth.trim().parse::<usize>().ok());
    let line = nth.and_then(|nth| input.lines().nth(nth.checked_sub(1)?));
    let command = match line {
        Some(line) => format!("{} {line}", words[0]),
        None => words.join(" "),
    };
    let reasons: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("Command failed"))
        .collect();
    if reasons.is_empty() {
        return format!("{command}: failed without a word");
    }
    format!("{command}: {}", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_batch_that_failed_is_named() {
        let batch = "link add x\nlink set y up\n";
        let said = "Cannot find device \"y\"\nCommand failed -:2\n";
        let reason = reason_of(&["ip", "-batch", "-"], batch, said);
        assert_eq!(reason, "ip link set y up: Cannot find device \"y\"");
    }
}
