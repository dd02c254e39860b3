//! What the load of a case is called, and what was served of its rate.

use super::labels;
use crate::units;
use analysis::RateSeen;
use model::load::{Load, Service};

/// `, 10,000 a second, at most 8 under way, 16 connections by epoll, answers of 4 KiB, exponential service of 5 µs`;
/// of a closed loop `, 16 connections`.
pub fn loaded(load: Load) -> String {
    if !load.has_rate() {
        return connected(load);
    }
    format!(", {} a second{}", units::count(load.per_second), beside_rate(load))
}

/// The same without the rate: `, at most 8 under way, 16 connections by epoll`.
pub fn beside_rate(load: Load) -> String {
    under_way(load) + &connected(load) + &answered(load)
}

/// `, at most 8 under way`; nothing of one at a time.
pub fn under_way(load: Load) -> String {
    match load.depth {
        1 => String::new(),
        depth => format!(", at most {depth} under way"),
    }
}

/// `, answers of 4 KiB, exponential service of 5 µs`; nothing of what is usual.
pub fn answered(load: Load) -> String {
    let service = match load.service {
        Service::None => String::new(),
        Service::Fixed(ns) => format!(", service of {}", units::duration(ns as f64)),
        Service::Exponential(ns) => {
            format!(", exponential service of {}", units::duration(ns as f64))
        }
    };
    answers(load) + &service
}

/// `, answers of 4 KiB`; nothing of answers as long as requests.
pub fn answers(load: Load) -> String {
    let answers = load.response.map(|response| format!(", answers of {}", units::size(response)));
    answers.unwrap_or_default()
}

/// `, 16 connections by epoll`; nothing of one connection whose server needs no choice. Of a closed loop
/// `, 16 connections`.
pub fn connected(load: Load) -> String {
    let connections = units::counted(u64::from(load.connections), "connection");
    match load.choice() {
        Some(server) => format!(", {connections} by {}", server.name()),
        None if load.has_rate() => String::new(),
        None => format!(", {connections}"),
    }
}

/// `50.0 k/s`.
pub fn per_second(rate: u64) -> String {
    units::per_second(rate as f64)
}

/// `can't serve 50.0 k/s here (13.1 k/s)`; where the sender was too late to tell, that. A launch may have had more to
/// serve than was asked on average: then `(98.6 % of what was due)`.
pub fn shortfall(rate: RateSeen) -> String {
    let asked = rate.load.per_second as f64;
    match (rate.void, rate.served_share) {
        (true, _) => short_of(rate),
        (false, Some(share))
            if rate.served_per_sec.is_some_and(|served| served >= share * asked) =>
        {
            format!("{} ({} of what was due)", short_of(rate), units::share(share))
        }
        (false, _) => format!("{} ({})", short_of(rate), served(rate)),
    }
}

/// What was served of a rate: `13.1 k/s`.
pub fn served(rate: RateSeen) -> String {
    labels::or_dash(rate.served_per_sec.map(units::per_second))
}

/// The same without what was served.
pub fn short_of(rate: RateSeen) -> String {
    let asked = per_second(rate.load.per_second);
    match rate.void {
        true => format!("the load generator was late at {asked}: no result"),
        false => format!("can't serve {asked} here"),
    }
}

/// The same with the case's name before it: `tcp can't serve 10.0 k/s here (9.10 k/s)`.
pub fn told(name: &str, rate: RateSeen) -> String {
    format!("{name}{} {}", if rate.void { ":" } else { "" }, shortfall(rate))
}
