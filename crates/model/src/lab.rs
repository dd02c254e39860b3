//! What a laboratory is asked to be: its size and what its path does to packets.
//!
//! Everything is parsed here, once; an error says what would be accepted.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most hosts: their names are single letters, and each is a network stack of its own.
pub const MOST_HOSTS: usize = 16;
/// Most routers, and most switches: half of what a fresh packet's time to live (64) crosses.
pub const MOST_HOPS: usize = 32;
/// Longest delay each way: beyond it protocols give up rather than wait.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// Smallest and largest MTU: what IPv6 needs (RFC 8200, section 5), and what a TAP device takes
/// beside its header of 14 bytes.
const MTU: std::ops::RangeInclusive<u32> = 1280..=65_521;
/// Rates that tbf keeps, in bits a second.
const RATES: std::ops::RangeInclusive<u64> = 100_000..=100_000_000_000;

/// What a laboratory is asked to be.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LabRequest {
    /// Its name, which tells it from others on this machine.
    pub name: String,
    /// Hosts: `a`, `b`, `c`, …
    pub hosts: usize,
    /// Routers between the first two hosts: `r1`, …
    pub routers: usize,
    /// Switches between the first two hosts: `s1`, …
    pub switches: usize,
    /// Largest packet of every link, in bytes.
    pub mtu: u32,
    /// Bits a second that the line carries each way.
    pub rate: Option<u64>,
    /// Share of the packets that the line loses each way.
    pub loss: Option<Loss>,
    /// Time that the line adds each way, in ns.
    pub delay_ns: Option<u64>,
    /// Who may do that.
    pub by: By,
    /// Seed of the relay's losses.
    pub seed: u64,
}

/// Who impairs the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The kernel where it can, the relay for the rest.
    #[default]
    Auto,
    /// The kernel or nobody.
    Kernel,
    /// The relay, also where there is nothing to impair: to see what it costs.
    Relay,
}

impl By {
    /// Every one, by its word.
    pub const ALL: [(&str, By); 3] =
        [("auto", By::Auto), ("kernel", By::Kernel), ("relay", By::Relay)];
}

/// A share of packets, in parts of a million.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
pub struct Loss(pub u32);

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000.0)
    }
}

impl LabRequest {
    /// Whether all of it can be built together.
    ///
    /// # Errors
    /// One line with the remedy.
    pub fn check(&self) -> Result<(), String> {
        let devices = self.routers + self.switches;
        if self.hosts > 2 && devices == 0 {
            return Err(format!(
                "--hosts {}: nothing joins more than two hosts; add --switches 1 or --routers 1",
                self.hosts
            ));
        }
        if self.hosts > 2 && devices == 1 && self.is_impaired() {
            return Err(format!(
                "--hosts {}: with one switch or router no line parts the hosts; \
                 --switches 2 makes one to impair",
                self.hosts
            ));
        }
        Ok(())
    }

    /// Whether its numbers are such as the command line takes.
    pub fn is_in_bounds(&self) -> bool {
        (2..=MOST_HOSTS).contains(&self.hosts) && self.routers.max(self.switches) <= MOST_HOPS
    }

    /// Whether anything is done to packets on the line.
    pub fn is_impaired(&self) -> bool {
        self.rate.is_some()
            || self.loss.is_some()
            || self.delay_ns.is_some()
            || self.by == By::Relay
    }
}

/// A laboratory's name: part of the names of its namespaces.
///
/// # Errors
/// Says what a name is made of.
pub fn name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = text.len() <= 32 && text.starts_with(|c: char| c.is_ascii_lowercase());
    if good && text.chars().all(allowed) {
        Ok(text.to_string())
    } else {
        Err(format!(
            "`{text}`: a name has at most 32 small letters, digits and dashes, \
             and begins with a letter: write lab, or slow-path"
        ))
    }
}

/// A number of hosts.
///
/// # Errors
/// Says how many there may be.
pub fn hosts(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (2..=MOST_HOSTS).contains(number));
    number.ok_or_else(|| format!("`{text}`: write a number of hosts from 2 to {MOST_HOSTS}"))
}

/// A number of routers or switches.
///
/// # Errors
/// Says how many there may be.
pub fn hops(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST_HOPS);
    number.ok_or_else(|| format!("`{text}`: write a number from 0 to {MOST_HOPS}"))
}

/// The largest packet of a link, in bytes.
///
/// # Errors
/// Says what is taken, and why.
pub fn mtu(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| MTU.contains(number));
    number.ok_or_else(|| {
        format!(
            "`{text}`: write bytes from {} (IPv6 needs them) to {}, as in 1500",
            MTU.start(),
            MTU.end()
        )
    })
}

/// Bits a second: `100mbit`, `1gbit`, `500kbit`, decimal as in tc(8).
///
/// # Errors
/// Says how a rate is written.
pub fn rate(text: &str) -> Result<u64, String> {
    let remedy = "write 500kbit, 100mbit or 1gbit, from 100kbit to 100gbit";
    let small = text.to_ascii_lowercase();
    let digits = small.find(|c: char| !c.is_ascii_digit()).unwrap_or(small.len());
    let (number, unit) = small.split_at(digits);
    let factor = match unit {
        "kbit" => 1_000,
        "mbit" => 1_000_000,
        "gbit" => 1_000_000_000,
        _ => return Err(format!("`{text}` is not a rate: {remedy}")),
    };
    let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bits.filter(|bit| RATES.contains(bit))
        .ok_or_else(|| format!("`{text}` is not a rate: {remedy}"))
}

/// A rate as it is asked for: `100mbit`.
pub fn rate_word(bits: u64) -> String {
    let units = [(1_000_000_000, "gbit"), (1_000_000, "mbit")];
    let (factor, unit) =
        units.into_iter().find(|unit| bits.is_multiple_of(unit.0)).unwrap_or((1_000, "kbit"));
    format!("{}{unit}", bits as f64 / factor as f64)
}

/// A delay as it is asked for: `10ms`, `1ms500us`.
pub fn delay_word(ns: u64) -> String {
    humantime::format_duration(Duration::from_nanos(ns)).to_string().replace(' ', "")
}

/// A share of packets: `5%`, `0.1%`.
///
/// # Errors
/// Says how a share is written.
pub fn loss(text: &str) -> Result<Loss, String> {
    let refusal =
        || format!("`{text}` is not a loss: write a share from 0% to 100%, as in 0.1% or 5%");
    let number = text.strip_suffix('%').ok_or_else(refusal)?;
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let percent: f64 = number.parse().ok().filter(|_| plain).ok_or_else(refusal)?;
    if percent > 100.0 {
        return Err(refusal());
    }
    let parts = percent * 10_000.0;
    if (parts - parts.round()).abs() < 1e-6 {
        Ok(Loss(parts.round() as u32))
    } else {
        Err(format!("`{text}` is finer than a millionth: write at least 0.0001%"))
    }
}

/// A time that packets take longer, each way.
///
/// # Errors
/// Says how a time is written.
pub fn delay(text: &str) -> Result<u64, String> {
    let time = humantime::parse_duration(text).ok().filter(|time| *time <= LONGEST_DELAY);
    time.map(|time| time.as_nanos() as u64)
        .ok_or_else(|| format!("`{text}` is not a delay: write 10ms or 500us, at most 10s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_meant() {
        assert_eq!(rate("100mbit"), Ok(100_000_000));
        assert_eq!(rate("1Gbit"), Ok(1_000_000_000));
        assert_eq!(loss("5%"), Ok(Loss(50_000)));
        assert_eq!(loss("0.0001%"), Ok(Loss(1)));
        assert_eq!(loss("100%"), Ok(Loss(1_000_000)));
        assert_eq!(Loss(1_000).to_string(), "0.1%");
        assert_eq!(delay("10ms"), Ok(10_000_000));
        assert_eq!(delay("1500us"), Ok(1_500_000));
        assert_eq!(mtu("9000"), Ok(9000));
        assert_eq!(hops("0"), Ok(0));
        assert_eq!(name("slow-path"), Ok("slow-path".into()));
    }

    #[test]
    fn a_refusal_names_a_remedy() {
        let refused: [(Result<(), String>, &str); 21] = [
            (rate("100").map(drop), "100mbit"),
            (rate("mbit").map(drop), "100mbit"),
            (rate("0mbit").map(drop), "100kbit"),
            (rate("99999999999gbit").map(drop), "100gbit"),
            (rate("-1mbit").map(drop), "100mbit"),
            (loss("5").map(drop), "5%"),
            (loss("101%").map(drop), "100%"),
            (loss("-1%").map(drop), "0%"),
            (loss("nan%").map(drop), "5%"),
            (loss("%").map(drop), "5%"),
            (loss("0.00001%").map(drop), "0.0001%"),
            (delay("10").map(drop), "10ms"),
            (delay("11s").map(drop), "at most 10s"),
            (mtu("576").map(drop), "1280"),
            (mtu("65522").map(drop), "65521"),
            (hosts("1").map(drop), "from 2"),
            (hosts("17").map(drop), "to 16"),
            (hops("33").map(drop), "to 32"),
            (hops("-1").map(drop), "from 0"),
            (name("a b").map(drop), "small letters"),
            (name("../x").map(drop), "small letters"),
        ];
        for (refusal, remedy) in refused {
            let line = refusal.expect_err(remedy);
            assert!(line.contains(remedy) && !line.contains('\n'), "{line}");
        }
    }
}
