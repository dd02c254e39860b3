//! The form of a study on paper: sheet, margins, letters, and how many pages it is meant for.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use model::nearest::unknown;

/// `[paper]`, as its author wrote it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// A form with a name, which the other keys may change: `plain`, `assignment`.
    pub form: Option<Spanned<String>>,
    pub author: Option<String>,
    /// The pages that it is meant for.
    pub pages: Option<Spanned<i64>>,
    /// So many of the first claims stay in their table, whatever room there is.
    pub claims: Option<Spanned<i64>>,
    /// Numbers of the claims that the abstract tells, whatever became of them; the first firm ones if nothing is said.
    #[serde(default, rename = "abstract")]
    pub summary: Vec<Spanned<i64>>,
    /// Why the question matters, and what is done: paragraphs, with works as `[@key]`.
    #[serde(default)]
    pub introduction: Vec<String>,
    /// What is particular about how this is measured, likewise.
    #[serde(default)]
    pub method: Vec<String>,
    /// Works that these name.
    #[serde(default)]
    pub work: Vec<Work>,
    /// The figures that a form of few pages shows, by their numbers in the study, those first that stay longest; all,
    /// if nothing is said.
    pub figures: Option<Vec<Spanned<i64>>>,
    /// Its tables, likewise.
    pub tables: Option<Vec<Spanned<i64>>>,
    /// Its tables of bounds, likewise.
    pub bounds: Option<Vec<Spanned<i64>>>,
    /// Size of the letters: `"10pt"`.
    pub font: Option<Spanned<String>>,
    /// From line to line: `"18pt"`.
    pub leading: Option<Spanned<String>>,
    /// On all four sides: `"1in"`.
    pub margin: Option<Spanned<String>>,
    /// `a4`, `us-letter`.
    pub sheet: Option<Spanned<String>>,
}

/// A work that a paper refers to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Its name in the text: `[@key]`.
    pub key: String,
    /// As it stands among the references.
    pub text: String,
}

/// How many of each a study has, that a paper may name by number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Has {
    pub claims: usize,
    pub figures: usize,
    pub tables: usize,
    pub bounds: usize,
}

/// The form of a page, every word checked. Lengths are in points, 72 to the inch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// The pages that it is meant for, by which its figures and tables are counted; None sets no limit.
    pub pages: Option<u64>,
    /// So many of the first claims are never left out.
    pub claims_kept: usize,
    /// Size of the letters.
    pub font_pt: f64,
    /// From line to line.
    pub leading_pt: f64,
    /// On all four sides.
    pub margin_pt: f64,
    pub sheet: Sheet,
}

/// A size of paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// 210 mm × 297 mm.
    A4,
    /// 8.5 in × 11 in.
    UsLetter,
}

impl Sheet {
    const ALL: [Sheet; 2] = [Sheet::A4, Sheet::UsLetter];

    /// Its name, in a study and in Typst.
    pub fn name(self) -> &'static str {
        match self {
            Sheet::A4 => "a4",
            Sheet::UsLetter => "us-letter",
        }
    }

    fn width_pt(self) -> f64 {
        match self {
            Sheet::A4 => 595.28,
            Sheet::UsLetter => 612.0,
        }
    }
}

impl Form {
    /// What is used where a study doesn't say: one column on A4, as many pages as it takes.
    pub const PLAIN: Form = Form {
        pages: None,
        claims_kept: 8,
        font_pt: 10.0,
        leading_pt: 14.0,
        margin_pt: 72.0,
        sheet: Sheet::A4,
    };
    /// A course's paper assignment: six pages, 10 point on 18, 1-inch margins.
    pub const ASSIGNMENT: Form =
        Form { pages: Some(6), leading_pt: 18.0, sheet: Sheet::UsLetter, ..Form::PLAIN };
    const NAMES: [(&'static str, Form); 2] =
        [("plain", Form::PLAIN), ("assignment", Form::ASSIGNMENT)];

    pub fn text_width_pt(&self) -> f64 {
        self.sheet.width_pt() - 2.0 * self.margin_pt
    }

    /// The form that a study declares.
    ///
    /// # Errors
    /// What is wrong, and where in the study's text.
    pub(super) fn of(paper: Option<&Paper>, has: &Has) -> Result<Form, (Range<usize>, String)> {
        let Some(paper) = paper else { return Ok(Form::PLAIN) };
        let none = Vec::new();
        let numbered = |numbers: &Option<_>| numbers.as_ref().unwrap_or(&none).clone();
        for (numbers, has, what) in [
            (paper.summary.clone(), has.claims, "claim"),
            (numbered(&paper.figures), has.figures, "figure"),
            (numbered(&paper.tables), has.tables, "table"),
            (numbered(&paper.bounds), has.bounds, "table of bounds"),
        ] {
            let is_one = |value: &&Spanned<i64>| (1..=has as i64).contains(value.get_ref());
            if let Some(stray) = numbers.iter().find(|value| !is_one(value)) {
                let known = if has == 0 { "it has none".into() } else { format!("1 to {has}") };
                return Err((stray.span(), format!("write the number of a {what}: {known}")));
            }
        }
        let texts = paper.introduction.iter().chain(&paper.method);
        for key in texts.flat_map(|text| cited(text)).filter_map(|part| part.err()) {
            if !paper.work.iter().any(|work| work.key == key) {
                let keys: Vec<&str> = paper.work.iter().map(|work| work.key.as_str()).collect();
                let at = paper.form.as_ref().map_or(0..0, |form| form.span());
                return Err((at, unknown("work", key, &keys)));
            }
        }
        let mut form = match &paper.form {
            None => Form::PLAIN,
            Some(name) => {
                let known = Form::NAMES.map(|name| name.0);
                let found = Form::NAMES.into_iter().find(|pair| pair.0 == name.get_ref());
                let failed = || (name.span(), unknown("form", name.get_ref(), &known));
                found.ok_or_else(failed)?.1
            }
        };
        if let Some(pages) = &paper.pages {
            let failed = || (pages.span(), "write a whole number of pages, from 1 on".to_string());
            let most = u64::try_from(*pages.get_ref()).ok().filter(|number| *number > 0);
            form.pages = Some(most.ok_or_else(failed)?);
        }
        if let Some(claims) = &paper.claims {
            let failed = || (claims.span(), "write a whole number of claims".to_string());
            form.claims_kept = usize::try_from(*claims.get_ref()).map_err(|_| failed())?;
        }
        // Wide enough for a name a hand wrote, and for a page to hold some words.
        form.font_pt = length(&paper.font, form.font_pt, 6.0..=24.0)?;
        form.leading_pt = length(&paper.leading, form.leading_pt, form.font_pt..=72.0)?;
        form.margin_pt = length(&paper.margin, form.margin_pt, 0.0..=216.0)?;
        if let Some(name) = &paper.sheet {
            let known = Sheet::ALL.map(Sheet::name);
            let found = Sheet::ALL.into_iter().find(|sheet| sheet.name() == name.get_ref());
            form.sheet =
                found.ok_or_else(|| (name.span(), unknown("sheet", name.get_ref(), &known)))?;
        }
        Ok(form)
    }
}

/// A text in parts: words, and as an error each work that it names as `[@key]`.
pub fn cited(text: &str) -> Vec<Result<&str, &str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, (key, after))) =
        rest.split_once("[@").and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
    {
        parts.extend([Ok(before), Err(key)]);
        rest = after;
    }
    parts.push(Ok(rest));
    parts
}

fn length(
    word: &Option<Spanned<String>>,
    otherwise: f64,
    allowed: std::ops::RangeInclusive<f64>,
) -> Result<f64, (Range<usize>, String)> {
    let Some(word) = word else { return Ok(otherwise) };
    let units = [("pt", 1.0), ("in", 72.0), ("mm", 72.0 / 25.4), ("cm", 72.0 / 2.54)];
    let points = units.iter().find_map(|(unit, points)| {
        Some(word.get_ref().strip_suffix(unit)?.trim().parse::<f64>().ok()? * points)
    });
    points.filter(|point| allowed.contains(point)).ok_or_else(|| {
        let (from, to) = (allowed.start(), allowed.end());
        let message = format!(
            "`{}` is not such a length: write one from {from}pt to {to}pt, in pt, in, mm or cm",
            word.get_ref()
        );
        (word.span(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Result<Form, String> {
        let paper: Paper = toml::from_str(text).expect("TOML");
        let has = Has { claims: 3, figures: 2, tables: 0, bounds: 1 };
        Form::of(Some(&paper), &has).map_err(|(_, message)| message)
    }

    #[test]
    fn a_form_is_named_and_changed() {
        assert_eq!(Form::of(None, &Has::default()), Ok(Form::PLAIN));
        assert_eq!(form("form = \"assignment\""), Ok(Form::ASSIGNMENT));
        let by_hand = "pages = 6\nfont = \"10pt\"\nleading = \"18pt\"\nmargin = \"1in\"\n\
                       sheet = \"us-letter\"";
        assert_eq!(form(by_hand), Ok(Form::ASSIGNMENT));
        assert_eq!(form("form = \"assignment\"\npages = 2").unwrap().pages, Some(2));
        assert_eq!(Form::ASSIGNMENT.text_width_pt(), 468.0);
    }

    #[test]
    fn what_is_no_number_and_no_length_is_refused() {
        for (text, word) in [
            ("form = \"asignment\"", "`assignment`"),
            ("abstract = [4]", "number of a claim: 1 to 3"),
            ("figures = [2, 3]", "number of a figure: 1 to 2"),
            ("tables = [1]", "number of a table: it has none"),
            ("bounds = [0]", "number of a table of bounds: 1 to 1"),
            ("font = \"10\"", "in pt"),
            ("leading = \"8pt\"", "from 10pt"),
            ("margin = \"9in\"", "216pt"),
            ("pages = 0", "from 1 on"),
            ("claims = -1", "a whole number"),
            ("sheet = \"letter\"", "us-letter"),
        ] {
            let message = form(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
