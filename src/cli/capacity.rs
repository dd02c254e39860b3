//! What `run -w capacity` asks: its bound, the rates that are tried first, and what can't be asked beside.

use super::args::RunArgs;
use super::value_parsers::Rates;
use model::capacity::{self, TailBound};
use model::distinct::ascending;
use model::workload::Arrivals;

/// The bound, where a capacity is asked for.
///
/// # Errors
/// What contradicts it, and the way out.
pub fn asked(args: &RunArgs) -> Result<Option<TailBound>, String> {
    let name = capacity::NAME;
    let bound = match (args.seeks_capacity(), args.open_loop.bound) {
        (false, None) => return Ok(None),
        (false, Some(_)) => {
            return Err(format!("--bound needs -w {name}: add it, or leave --bound out"));
        }
        (true, None) => {
            return Err(format!("-w {name}: which bound? add one, as in --bound p99:200us"));
        }
        (true, Some(bound)) => bound,
    };
    if args.workload.iter().any(|task| *task != args.workload[0]) {
        return Err(format!("-w {name}: it is measured by itself: leave the other workloads out"));
    }
    if let arrivals @ Arrivals::Bursts { .. } = args.open_loop.arrivals() {
        return Err(format!(
            "--arrivals {arrivals}: bursts set their own rate, so that no capacity can be searched for: use -w rate"
        ));
    }
    let others = [
        ("--observe", !args.observe.is_empty()),
        ("--arm", args.arms.are_given()),
        ("--beside", !args.beside.is_empty()),
        ("--sessions", args.sessions.is_some()),
        ("--unmarked", args.unmarked.is_some()),
        ("--precision", args.precision.is_some()),
    ];
    match others.into_iter().find(|pair| pair.1) {
        Some((flag, _)) => {
            Err(format!("{flag} can't be combined with -w {name}: leave it out, or use -w rate"))
        }
        None => Ok(Some(bound)),
    }
}

/// The rates that are tried first, ascending, each once; None where no capacity is asked for.
pub fn rates(args: &RunArgs) -> Option<Vec<u64>> {
    let bound = args.open_loop.bound.filter(|_| args.seeks_capacity())?;
    Some(ascending(match &args.rate {
        Some(Rates(rates)) => rates.clone(),
        None => capacity::coarse(&bound),
    }))
}
