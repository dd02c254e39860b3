//! Losses as factors: `loss` and `burst` are options of `udp:reliability=…`, and every mechanism that
//! has such a reliability is measured at each level of both.

use model::catalogue::{self, Catalogue};

/// The loss at which nothing is lost.
pub const NONE: &str = "0%";

/// A mechanism without its losses: what a study calls it.
pub fn without(mechanism: &str) -> String {
    let Some((name, options)) = mechanism.split_once(':') else { return mechanism.to_string() };
    let kept: Vec<&str> = options.split(',').filter(|it| !is_loss(it)).collect();
    if kept.is_empty() { name.to_string() } else { format!("{name}:{}", kept.join(",")) }
}

fn name(mechanism: &str) -> &str {
    mechanism.split_once(':').map_or(mechanism, |(name, _)| name)
}

fn is_loss(pair: &str) -> bool {
    pair.starts_with("loss=") || pair.starts_with("burst=")
}

fn of<'a>(mechanism: &'a str, option: &str) -> Option<&'a str> {
    let (_, options) = mechanism.split_once(':')?;
    options.split(',').find_map(|it| it.strip_prefix(option)?.strip_prefix('='))
}

/// The loss of a mechanism.
pub fn loss(mechanism: &str) -> String {
    of(mechanism, "loss").unwrap_or(NONE).to_string()
}

/// How long its bursts are; None where nothing is lost, which stands for bursts of any length.
pub fn burst(mechanism: &str) -> Option<String> {
    (loss(mechanism) != NONE).then(|| of(mechanism, "burst").unwrap_or("1").to_string())
}

/// A level in the one way it is written.
///
/// # Errors
/// What is wrong with it.
pub fn level(catalogue: &Catalogue, option: &str, word: &str) -> Result<String, String> {
    let written = catalogue.written(&format!("udp:reliability=none,{option}={word}"))?;
    Ok(of(&written, option).unwrap_or(word).to_string())
}

/// Every mechanism at each loss and burst that means something to it.
pub fn product(mechanisms: &[String], losses: &[String], bursts: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for mechanism in mechanisms {
        let mends = of(mechanism, "reliability").is_some_and(|it| it != "window");
        if !mends {
            all.extend(all_once(&all, mechanism));
            continue;
        }
        for loss in losses {
            if loss == NONE {
                all.extend(all_once(&all, mechanism));
                continue;
            }
            for burst in bursts {
                let text = format!("{mechanism},loss={loss},burst={burst}");
                // In the order in which options are written.
                all.push(catalogue::write(name(&text), &catalogue::options(&text)));
            }
        }
    }
    all
}

/// Those of `all` that `word` names: without a loss of its own, at each that they are measured at.
pub fn named(all: &[String], word: &str) -> Vec<String> {
    let says_loss = word.split_once(':').is_some_and(|(_, options)| options.contains("loss="));
    let alike = |it: &str| !says_loss || (loss(it), burst(it)) == (loss(word), burst(word));
    let named = |it: &&String| without(it) == without(word) && alike(it);
    all.iter().filter(named).cloned().collect()
}

fn all_once(all: &[String], mechanism: &String) -> Option<String> {
    (!all.contains(mechanism)).then(|| mechanism.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::catalogue;

    #[test]
    fn losses_are_levels_and_not_part_of_a_name() {
        let name = "udp:burst=8,deadline=5000,loss=5%,reliability=none";
        assert_eq!(without(name), "udp:deadline=5000,reliability=none");
        assert_eq!((loss(name), burst(name)), ("5%".into(), Some("8".into())));
        assert_eq!((loss("tcp"), burst("tcp"), without("tcp")), (NONE.into(), None, "tcp".into()));
        assert_eq!(without("udp:loss=5%"), "udp");
        assert_eq!(level(&catalogue(), "loss", "05.0%"), Ok("5%".into()));
        assert!(level(&catalogue(), "loss", "5").unwrap_err().contains("PERCENT%"));
    }

    #[test]
    fn a_mechanism_is_named_at_every_loss_or_at_one() {
        let text = ["tcp", "udp:reliability=none", "udp:burst=8,loss=5%,reliability=none"];
        let all = text.map(String::from);
        let of = |word: &str| named(&all, &catalogue().written(word).unwrap());
        assert_eq!(of("tcp"), all[..1]);
        assert_eq!(of("udp:reliability=none"), all[1..]);
        assert_eq!(of("udp:loss=0%,reliability=none"), all[1..2]);
        assert_eq!(of("udp:reliability=none,loss=5%,burst=8"), all[2..]);
        assert_eq!(of("udp:reliability=none,loss=5%"), all[..0]);
    }

    #[test]
    fn what_can_lose_is_measured_at_every_level_and_the_rest_once() {
        let words = |all: &[&str]| all.iter().map(|it| it.to_string()).collect::<Vec<_>>();
        let all = product(
            &words(&["tcp", "udp:reliability=none"]),
            &words(&["0%", "5%"]),
            &words(&["1", "8"]),
        );
        assert_eq!(
            all,
            [
                "tcp",
                "udp:reliability=none",
                "udp:burst=1,loss=5%,reliability=none",
                "udp:burst=8,loss=5%,reliability=none",
            ]
        );
    }
}
