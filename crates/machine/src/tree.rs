//! Small reads of /proc and /sys below a root directory: `/` in production, a stored tree in
//! tests. A file that is missing, unreadable or not a number is `None`; nothing here fails,
//! because a host that hides a file is still a host to describe.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use super::cpu_list::parse_cpu_list;

/// The text of a file without surrounding white space and NUL bytes (device-tree strings end
/// with one); `None` where it can't be read or says nothing.
pub fn text(root: &Path, path: &str) -> Option<String> {
    let bytes = fs::read(root.join(path)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A file that holds one number in decimal.
pub fn number<T: FromStr>(root: &Path, path: &str) -> Option<T> {
    text(root, path)?.parse().ok()
}

/// A file that holds one switch: `1`, `Y` and `on` are true, `0`, `N` and `off` false.
pub fn switch(root: &Path, path: &str) -> Option<bool> {
    match text(root, path)?.as_str() {
        "1" | "Y" | "y" | "on" => Some(true),
        "0" | "N" | "n" | "off" => Some(false),
        _ => None,
    }
}

/// A file that holds a CPU list. An empty file is an empty list: so the kernel writes "none".
pub fn cpus(root: &Path, path: &str) -> Option<Vec<u32>> {
    let content = fs::read_to_string(root.join(path)).ok()?;
    match content.trim() {
        "" => Some(Vec::new()),
        list => parse_cpu_list(list).ok(),
    }
}

/// The names in a directory, sorted; empty where there is none.
pub fn names(root: &Path, path: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join(path)) else {
        return Vec::new();
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The numbers of the entries that are called `prefix` and a number (`cpu0`, `node1`), ascending.
pub fn numbered(root: &Path, path: &str, prefix: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = names(root, path)
        .iter()
        .filter_map(|name| name.strip_prefix(prefix)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}
