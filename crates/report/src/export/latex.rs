//! A table for LaTeX, with booktabs: a row a case, rows of a group together, and how each stands to the group's reference.

use std::fmt::Write;

use super::measured;
use crate::compose::{labels, ratios};
use analysis::Judged;

pub fn text(judged: &Judged) -> String {
    let run = &judged.run;
    let mut text = format!(
        "% {}: run {}, {}\n% Needs \\usepackage{{booktabs}}.\n\\begin{{tabular}}{{lrrr}}\n\\toprule\n",
        run.tool, run.id, run.started
    );
    text.push_str("case & median & 95\\,\\% interval & over the reference \\\\\n");
    let mut group = None;
    for case in measured(judged) {
        if group.replace(case.group) != Some(case.group) {
            text.push_str("\\midrule\n");
        }
        let standing = ratios::standing(judged, case);
        let ratio = standing.and_then(|(group, standing)| labels::short_ratio(group, standing));
        let ends = case.value.as_ref().and_then(|value| value.interval.ends());
        let range = ends.map_or("--".into(), |(low, high)| labels::unit(case).range(low, high));
        let cells =
            [labels::case(case), labels::brief_value(case), range, ratio.unwrap_or_default()];
        writeln!(text, "{} \\\\", cells.map(|cell| escaped(&cell)).join(" & ")).expect("memory");
    }
    text.push_str("\\bottomrule\n\\end{tabular}\n");
    text
}

fn escaped(words: &str) -> String {
    let letter = |letter: char| match letter {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        '\\' => "\\textbackslash{}".into(),
        '~' => "\\textasciitilde{}".into(),
        '^' => "\\textasciicircum{}".into(),
        '–' => "--".into(),
        '×' => "$\\times$".into(),
        'µ' => "$\\mu$".into(),
        other => other.to_string(),
    };
    words.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_means_something_to_latex_is_escaped() {
        assert_eq!(super::escaped("a_b & 5 %\\"), "a\\_b \\& 5 \\%\\textbackslash{}");
        assert_eq!(super::escaped("1.5–2 µs"), "1.5--2 $\\mu$s");
    }
}
