//! The arithmetic of `[[derived]]` columns: numbers, named statistics of a case, `+ - * /` and
//! parentheses, with the usual precedence.

use super::counted::{Count, unknown_or_count};
use model::nearest::unknown;

/// Statistics that an expression may name, beside percentiles (`p99.9`): of the case's estimate,
/// in ns or in bytes (or wake-ups) per second, and of the case itself.
pub const STATISTICS: [&str; 14] = [
    "median",
    "mean",
    "min",
    "q1",
    "q3",
    "max", // of its estimate
    "size",
    "total", // bytes of a message, and of a transfer
    "switches",
    "cpu", // of an operation, both workers: counted; in ns
    MEDIAN_UNOBSERVED,
    "floor", // the bound that fits it
    "slice",
    "getppid", // of the machine: the scheduler's slice and a kernel call, in ns
];

/// Of an observed case: the median of the same case unobserved, in the same round.
pub const MEDIAN_UNOBSERVED: &str = "unobserved";

/// Percentiles of each launch that tables and expressions may name.
pub const PERCENTILES: [&str; 7] = ["p50", "p75", "p90", "p99", "p99.9", "p99.99", "p99.999"];

/// Deeper nesting and longer sums are slips: both are trees as deep, which are walked by recursion.
const DEEPEST: usize = 32;
const MOST_TERMS: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    Statistic(String),
    /// What observed launches counted, by name.
    Count(String),
    /// Two operands, and the sign between them: one of `+-*/`.
    Of(Box<Expression>, char, Box<Expression>),
}

impl Expression {
    /// Reads `mean * 100000 / 1e9`.
    ///
    /// # Errors
    /// What isn't understood, and for a misspelt statistic the nearest one.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut reader = Reader { rest: text.trim_start(), terms: 0 };
        let read = reader.sum(0)?;
        match reader.rest.chars().next() {
            None => Ok(read),
            Some(')') => Err("`)` closes nothing".into()),
            Some(_) => Err(format!("`{}`: write + - * or / before it", reader.rest.trim_end())),
        }
    }

    /// Its value, where `statistic` knows every name in it; None too where it divides by zero.
    pub fn value(&self, statistic: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = match self {
            Expression::Number(number) => *number,
            Expression::Statistic(name) | Expression::Count(name) => statistic(name)?,
            Expression::Of(left, sign, right) => {
                let (left, right) = (left.value(statistic)?, right.value(statistic)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }
}

struct Reader<'a> {
    rest: &'a str,
    terms: usize,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    /// Takes one of `signs`, if it comes next.
    fn sign(&mut self, signs: &str) -> Option<char> {
        let sign = self.rest.chars().next().filter(|letter| signs.contains(*letter))?;
        self.skip(sign.len_utf8());
        Some(sign)
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.product(depth)?;
        while let Some(sign) = self.sign("+-") {
            left = Expression::Of(Box::new(left), sign, Box::new(self.product(depth)?));
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.operand(depth)?;
        while let Some(sign) = self.sign("*/") {
            left = Expression::Of(Box::new(left), sign, Box::new(self.operand(depth)?));
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> Result<Expression, String> {
        self.terms += 1;
        if self.terms > MOST_TERMS {
            return Err(format!("it has more than {MOST_TERMS} terms: write a shorter one"));
        }
        match self.rest.chars().next() {
            None => Err("it ends where a number or a statistic is expected".into()),
            Some('(') if depth == DEEPEST => Err("too many parentheses inside each other".into()),
            Some('(') => {
                self.skip(1);
                let inner = self.sum(depth + 1)?;
                self.sign(")").map(|_| inner).ok_or_else(|| "a `(` isn't closed".into())
            }
            Some('[') => self.count(),
            Some(it) if it.is_ascii_digit() => self.number(),
            Some(it) if it.is_ascii_alphabetic() => self.statistic(),
            Some(it) => Err(format!("`{it}`: expected a number or a statistic there")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let mut before = ' ';
        let end = self.rest.find(|letter: char| {
            let exponent = matches!(before, 'e' | 'E') && (letter == '+' || letter == '-');
            before = letter;
            !(letter.is_ascii_alphanumeric() || letter == '.' || exponent)
        });
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        let number = word.parse().ok().filter(|value: &f64| value.is_finite());
        let number = number.ok_or_else(|| format!("`{word}` is not a number"))?;
        self.skip(word.len());
        Ok(Expression::Number(number))
    }

    /// A count stands in brackets: its name may hold what else is a sign.
    fn count(&mut self) -> Result<Expression, String> {
        let end = self.rest.find(']').ok_or_else(|| "a `[` isn't closed".to_string())?;
        let word = self.rest[1..end].trim().to_string();
        if Count::number(&word).is_none() {
            return Err(unknown_or_count("count", &word, &[]));
        }
        self.skip(end + 1);
        Ok(Expression::Count(word))
    }

    fn statistic(&mut self) -> Result<Expression, String> {
        let end = self.rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '.'));
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        if !STATISTICS.contains(&word) && !is_percentile(word) {
            return Err(unknown("statistic", word, &STATISTICS));
        }
        let name = word.to_string();
        self.skip(name.len());
        Ok(Expression::Statistic(name))
    }
}

/// Whether `word` names a percentile: `p50`, `p99.999`.
pub fn is_percentile(word: &str) -> bool {
    PERCENTILES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let of = |name: &str| match name {
            "mean" => Some(9000.0),
            "p99.9" => Some(18000.0),
            "size" => Some(0.0),
            "context-switches" => Some(2.0),
            _ => None,
        };
        Expression::parse(text).unwrap().value(&of)
    }

    #[test]
    fn products_come_before_sums_and_parentheses_before_both() {
        assert_eq!(value("1 + 2*3 - 4/2"), Some(5.0));
        assert_eq!(value("(1+2) * (3 - 1.5)"), Some(4.5));
        assert_eq!(value("20 - 5 - 3"), Some(12.0));
        assert_eq!(value("64 / 4 / 2"), Some(8.0));
        assert_eq!(value("mean * 100000 / 1e9"), Some(0.9));
        assert_eq!(value("p99.9/mean + 1e-1"), Some(2.1));
        assert_eq!(value("mean / [context-switches] - 1"), Some(4499.0));
    }

    #[test]
    fn what_is_unknown_or_divided_by_zero_has_no_value() {
        assert_eq!(value("mean / slice"), None);
        assert_eq!(value("mean / size"), None);
    }

    #[test]
    fn what_is_no_expression_says_what_is_wrong() {
        for (text, word) in [
            ("medain / 2", "`median`"),
            ("", "it ends"),
            ("mean *", "it ends"),
            ("(mean + 1", "isn't closed"),
            ("mean)", "closes nothing"),
            ("mean 2", "`2`: write"),
            ("2x", "`2x`"),
            ("1 % 2", "`% 2`"),
            ("* 2", "`*`"),
            ("[context-switch]", "`context-switches`"),
            ("[read:values]", "read"),
            ("[read", "isn't closed"),
            ("p100", "statistic"),
            ("µ", "`µ`"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        assert!(Expression::parse(&"(".repeat(100_000)).is_err());
    }
}
