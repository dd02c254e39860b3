//! How a launch is observed: instrumentation, how many times over, and whether it does its work.
//!
//! Observing has an overhead, so that an observed launch is never a result: it stands beside
//! launches of the same case that are not, in the same rounds.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::Family;
use crate::named::as_text;

/// Instrumentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instrument {
    /// Counters of a family (perf_event_open(2)).
    Counters(Family),
    /// Programs on the kernel's tracepoints (bpf(2)).
    Trace(Scope),
}

/// Which tracepoints a trace attaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Entering and leaving system calls.
    Calls,
    /// Wake-ups and switches.
    Scheduler,
    /// Both, interrupts between CPUs, and bytes of socket operations.
    All,
}

/// One way of observing a launch. Written `software`, `trace`, `trace-calls:empty`,
/// `trace:times=2`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Probe {
    /// Instrumentation.
    pub instrument: Instrument,
    /// How many times over: 1, 2 or 4. More than once only shows what once costs.
    pub times: u8,
    /// Of a trace: its programs return at once, and nothing is learned but what firing costs.
    pub empty: bool,
}

impl Probe {
    /// Counters of `family`, once.
    pub const fn counters(family: Family) -> Probe {
        Probe { instrument: Instrument::Counters(family), times: 1, empty: false }
    }

    /// A trace of `scope`, once, at work.
    pub const fn trace(scope: Scope) -> Probe {
        Probe { instrument: Instrument::Trace(scope), times: 1, empty: false }
    }

    /// The family that it counts, if it counts.
    pub fn family(self) -> Option<Family> {
        match self.instrument {
            Instrument::Counters(family) => Some(family),
            Instrument::Trace(_) => None,
        }
    }

    /// What it traces, if it traces.
    pub fn scope(self) -> Option<Scope> {
        match self.instrument {
            Instrument::Counters(_) => None,
            Instrument::Trace(scope) => Some(scope),
        }
    }

    /// The probes that a word names: `counters` all families, `hardware` those of the processor,
    /// else one probe.
    ///
    /// # Errors
    /// What there is.
    pub fn each_of(word: &str) -> Result<Vec<Probe>, String> {
        let families = |wanted: fn(Family) -> bool| {
            let chosen = Family::ALL.into_iter().filter(|family| wanted(*family));
            chosen.map(Probe::counters).collect()
        };
        match word {
            "counters" => Ok(families(|_| true)),
            "hardware" => Ok(families(Family::is_hardware)),
            _ => word.parse().map(|probe| vec![probe]),
        }
    }
}

crate::named!(Scope {
    Calls => "trace-calls",
    Scheduler => "trace-scheduler",
    All => "trace",
});

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.instrument {
            Instrument::Counters(family) => family.name(),
            Instrument::Trace(scope) => scope.name(),
        })?;
        if self.empty {
            f.write_str(":empty")?;
        }
        if self.times > 1 {
            write!(f, ":times={}", self.times)?;
        }
        Ok(())
    }
}

impl FromStr for Probe {
    type Err = String;

    fn from_str(text: &str) -> Result<Probe, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let scope = Scope::ALL.into_iter().find(|scope| scope.name() == name);
        let mut probe = match scope {
            Some(scope) => Probe::trace(scope),
            None => Probe::counters(name.parse().map_err(|_| unknown(name))?),
        };
        for option in options.split(':').filter(|option| !option.is_empty()) {
            match option {
                "empty" if scope.is_some() => probe.empty = true,
                "empty" => return Err(format!("{name}: only a trace can be empty")),
                "times=1" => probe.times = 1,
                "times=2" => probe.times = 2,
                "times=4" => probe.times = 4,
                _ => return Err(format!("{name}: no option `{option}`: empty, times=1|2|4")),
            }
        }
        Ok(probe)
    }
}

fn unknown(name: &str) -> String {
    let families = Family::ALL.map(Family::name).into_iter();
    let all: Vec<&str> = families.chain(Scope::ALL.map(Scope::name)).collect();
    format!("nothing to observe by `{name}`: there are counters, hardware, {}", all.join(", "))
}

as_text!(Probe, str::parse);

/// Why something can't be observed here.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Refusal {
    /// What is in the way.
    pub reason: String,
    /// What changes it, if anything does: mostly a command.
    pub remedy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_read_as_it_is_written() {
        for text in ["software", "calls", "l1d:times=2", "trace", "trace-calls:empty:times=4"] {
            assert_eq!(text.parse::<Probe>().unwrap().to_string(), text);
        }
        assert_eq!("trace:times=1".parse::<Probe>().unwrap(), Probe::trace(Scope::All));
    }

    #[test]
    fn a_word_may_name_several_probes() {
        assert_eq!(Probe::each_of("counters").unwrap().len(), Family::ALL.len());
        let hardware = Probe::each_of("hardware").unwrap();
        assert!(hardware.iter().all(|probe| probe.family().is_some_and(Family::is_hardware)));
        assert_eq!(Probe::each_of("trace").unwrap(), [Probe::trace(Scope::All)]);
    }

    #[test]
    fn what_is_not_a_probe_is_refused_with_what_is() {
        assert!("tracee".parse::<Probe>().unwrap_err().contains("trace-scheduler"));
        assert!("trace:times=3".parse::<Probe>().unwrap_err().contains("times=1|2|4"));
        assert!("calls:empty".parse::<Probe>().unwrap_err().contains("only a trace"));
    }
}
