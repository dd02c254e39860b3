//! Studies as they are written, read.

use super::*;

const SMALL: &str = r#"
version = 1
title = "Small"
question = "Does it parse?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "round trip" }
[fixed]
mechanism = "pipe"
[vary]
size = ["64", "4K"]
[[hypothesis]]
statement = "larger is slower"
test = "rises"
along = "size"
left = { mechanism = "pipe" }
"#;

#[test]
fn a_small_study_parses() {
    let study = read(SMALL, "small.toml").unwrap();
    assert_eq!(study.hypothesis[0].test, Test::Rises);
    let sizes = study.vary.of(Factor::Size).unwrap();
    assert_eq!(sizes.each(SMALL).map(|(word, _)| word).collect::<Vec<_>>(), ["64", "4K"]);
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let error = read(text, "s.toml").unwrap_err();
    assert_eq!(error.lines().count(), 1, "{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` isn't in: {error}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_nearest_word() {
    refused(&SMALL.replace("statement =", "statment ="), &["s.toml:13", "`statement`"]);
    refused(&SMALL.replace("\"rises\"", "\"rise\""), &["s.toml:14", "`rises`"]);
    refused(&SMALL.replace("version = 1", "version = 9"), &["s.toml:2", "version 9"]);
    refused(&SMALL.replace("title = \"Small\"", ""), &["missing", "title"]);
    refused(&SMALL.replace("[fixed]", "[fixed"), &["s.toml:8"]);
}
