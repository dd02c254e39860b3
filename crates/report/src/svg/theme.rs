//! The colours of a picture, by what they mean, and the numbers that series are drawn by.

use crate::figure::{Drawn, Figure, LIT, Series, VerdictKind};

/// The colours of a picture, by what they mean.
pub(super) struct Theme {
    pub ink: &'static str,
    /// What stands back: axes' names, bounds.
    pub muted: &'static str,
    /// Grid lines.
    pub rule: &'static str,
    pub paper: &'static str,
    /// The ground of what is absent or set off, and the hatching on it.
    pub pale: [&'static str; 2],
    series: [&'static str; 7],
    /// In favour, against, neither, not found out.
    tones: [&'static str; 4],
    /// Stands in a page: colours are the page's, and a script finds its way by attributes.
    pub inline: bool,
}

/// A picture by itself. The colours of series are those of Okabe and Ito that are dark enough on
/// paper; what a page has for light is the same.
pub(super) static PRINT: Theme = Theme {
    ink: "#1b1d21",
    muted: "#5d636d",
    rule: "#dfe1e4",
    paper: "#ffffff",
    pale: ["#eeeff1", "#b9bdc4"],
    series: ["#0072b2", "#d55e00", "#009e73", "#b8558f", "#c98500", "#3f9fdb", "#33373d"],
    tones: ["#0b6e53", "#a83f00", "#0a5c94", "#7d5300"],
    inline: false,
};

/// A picture in a page, whose stylesheet says which colours these are in which theme.
pub(super) static PAGE: Theme = Theme {
    ink: "var(--ink)",
    muted: "var(--muted)",
    rule: "var(--rule)",
    paper: "var(--card)",
    pale: ["var(--pale)", "var(--hatch)"],
    series: [
        "var(--s1)",
        "var(--s2)",
        "var(--s3)",
        "var(--s4)",
        "var(--s5)",
        "var(--s6)",
        "var(--s7)",
    ],
    tones: ["var(--good)", "var(--bad)", "var(--accent)", "var(--warn)"],
    inline: true,
};

/// Numbers of series from here on are tones; a multiple of the signs' eight.
const TONES: usize = 1 << 16;

/// The number that a series is drawn by: its place, or its tone.
pub(super) fn number_of(series: &Series, nth: usize) -> usize {
    match series.tone {
        None => nth,
        Some(VerdictKind::Good) => TONES,
        Some(VerdictKind::Bad) => TONES + 1,
        Some(VerdictKind::Neutral) => TONES + 2,
        Some(VerdictKind::Unknown) => TONES + 3,
    }
}

/// The grey of what a page doesn't light; its stylesheet changes it where a reader points.
const QUIET: &str = "var(--quiet)";

impl Theme {
    /// Whether the series of that number is grey: on a page, where pointing at it tells which it is.
    pub fn is_quiet(&self, nth: usize) -> bool {
        self.inline && (LIT..TONES).contains(&nth)
    }

    /// The colour of a series by its number.
    pub fn color(&self, nth: usize) -> &'static str {
        match nth.checked_sub(TONES) {
            Some(tone) => self.tones[tone % self.tones.len()],
            None if self.is_quiet(nth) => QUIET,
            None => self.series[nth % self.series.len()],
        }
    }
}

/// Whether each point of a series has a sign: not where there are too many to distinguish.
pub(super) fn signed(figure: &Figure, series: &Series) -> bool {
    series.points.len() <= 24 && figure.points() <= 240 && series.drawn != Drawn::Line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One theme everywhere: what is printed has the colours that a page has in the light.
    #[test]
    fn print_has_the_light_colours_of_the_page() {
        const STYLE: &str = include_str!("../assets/report.css");
        let light = |named: &str| {
            let name = named.trim_start_matches("var(").trim_end_matches(')');
            let declared = STYLE.split_once(&format!("{name}: light-dark(")).expect(name).1;
            declared.split_once(',').unwrap().0
        };
        let all = |theme: &Theme| -> Vec<&'static str> {
            let single = [theme.ink, theme.muted, theme.rule, theme.paper];
            single.into_iter().chain(theme.pale).chain(theme.series).chain(theme.tones).collect()
        };
        for (printed, named) in all(&PRINT).into_iter().zip(all(&PAGE)) {
            assert_eq!(printed, light(named), "{named}");
        }
    }
}
