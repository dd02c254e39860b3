//! The studies that come with the program: the files of `studies/`, put in by build.rs.
//!
//! No line of code knows one of them by name. A new file there is a new study.

use model::nearest::unknown;

static STUDIES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// Every built-in study, by name: the name (its file's, without `.toml`) and its text.
pub fn all() -> Vec<(&'static str, &'static str)> {
    STUDIES.to_vec()
}

/// The text of the study called `name`.
///
/// # Errors
/// The nearest right name, or all of them.
pub fn find(name: &str) -> Result<&'static str, String> {
    let found = STUDIES.iter().find(|(text, _)| *text == name).map(|(_, text)| *text);
    found.ok_or_else(|| {
        let names: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
        unknown("study", name, &names)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(Into::into)
            })
            .collect();
        files.sort();
        let names: Vec<&str> = all().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, files);
        assert!(!names.is_empty());
        for (name, text) in all() {
            assert_eq!(find(name), Ok(text));
        }
        assert!(find("no such study").unwrap_err().contains(names[0]));
    }
}
