//! Mechanisms at each level of their losses.

use std::collections::BTreeMap;

use model::catalogue::{
    self, BURST, Catalogue, LOSS, NO_LOSS, RECOVERY, burst, loss, value_of, without_losses,
};

/// A level of `option` in the one way it is written.
///
/// # Errors
/// What is wrong with it.
pub fn level(catalogue: &Catalogue, option: &str, word: &str) -> Result<String, String> {
    match catalogue.option(option) {
        Some((mechanism, option)) => option.value(&mechanism.name, word),
        None => Err(format!("no mechanism of this build has the option `{option}`")),
    }
}

/// Every mechanism at each loss and burst that means something to it.
pub fn product(
    catalogue: &Catalogue,
    mechanisms: &[String],
    losses: &[String],
    bursts: &[String],
) -> Vec<String> {
    let mut all = Vec::new();
    for mechanism in mechanisms {
        if !recovers(catalogue, mechanism) {
            all.extend(all_once(&all, mechanism));
            continue;
        }
        for loss in losses {
            if loss == NO_LOSS {
                all.extend(all_once(&all, mechanism));
                continue;
            }
            for burst in bursts {
                let mut options = catalogue::options(mechanism);
                options.insert(LOSS.into(), loss.clone());
                options.insert(BURST.into(), burst.clone());
                all.push(catalogue::write(catalogue::name(mechanism), &options));
            }
        }
    }
    all
}

/// Whether a mechanism is written with a way to recover what is lost, or to count it.
fn recovers(catalogue: &Catalogue, mechanism: &str) -> bool {
    let name = catalogue::name(mechanism);
    let words = catalogue.mechanisms.iter().find(|known| known.name == name);
    let not_at_all = words.and_then(|known| known.option(RECOVERY)?.words.first());
    value_of(mechanism, RECOVERY).is_some_and(|value| not_at_all != Some(&value))
}

/// Mechanisms by what they are called without their losses, in their order.
pub fn by_name(all: &[String]) -> BTreeMap<String, Vec<&String>> {
    let mut names: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for mechanism in all {
        names.entry(without_losses(mechanism)).or_default().push(mechanism);
    }
    names
}

/// Those of `all` that `word` names: without a loss of its own, at each that they are measured at.
pub fn named(all: &BTreeMap<String, Vec<&String>>, word: &str) -> Vec<String> {
    let lost = value_of(word, LOSS).is_some().then(|| (loss(word), burst(word)));
    let alike = |text: &str| lost.as_ref().is_none_or(|lost| (loss(text), burst(text)) == *lost);
    let of_name = all.get(&without_losses(word)).into_iter().flatten();
    of_name.filter(|text| alike(text)).map(|text| text.to_string()).collect()
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
        assert_eq!(without_losses(name), "udp:deadline=5000,reliability=none");
        assert_eq!((loss(name), burst(name)), ("5%".into(), Some("8".into())));
        assert_eq!(
            (loss("tcp"), burst("tcp"), without_losses("tcp")),
            (NO_LOSS.into(), None, "tcp".into())
        );
        assert_eq!(without_losses("udp:loss=5%"), "udp");
        assert_eq!(level(&catalogue(), "loss", "05.0%"), Ok("5%".into()));
        assert!(level(&catalogue(), "loss", "5").unwrap_err().contains("PERCENT%"));
    }

    #[test]
    fn a_mechanism_is_named_at_every_loss_or_at_one() {
        let text = ["tcp", "udp:reliability=none", "udp:burst=8,loss=5%,reliability=none"];
        let all = text.map(String::from);
        let of = |word: &str| named(&by_name(&all), &catalogue().written(word).unwrap());
        assert_eq!(of("tcp"), all[..1]);
        assert_eq!(of("udp:reliability=none"), all[1..]);
        assert_eq!(of("udp:loss=0%,reliability=none"), all[1..2]);
        assert_eq!(of("udp:reliability=none,loss=5%,burst=8"), all[2..]);
        assert_eq!(of("udp:reliability=none,loss=5%"), all[..0]);
    }

    #[test]
    fn what_can_lose_is_measured_at_every_level_and_the_rest_once() {
        let words = |all: &[&str]| all.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let all = product(
            &catalogue(),
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
