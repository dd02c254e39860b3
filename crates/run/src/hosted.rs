//! The mechanism of a program of the crate `ipcmark-host`: it is compiled into that program, which makes the launches of it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::launch::answer::say;
use crate::plugin::{Described, MARK, combinations};
use mechanisms::{
    Endpoint, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Visitor,
    open_nonblocking_of,
};
use model::catalogue::OptionWords;
use model::mechanism::Waits;
use model::plugin::{Kind, Plugin, PluginVariant, name};
use workload::opened::Pairs;

/// Opens a pair, for whoever asks its ends without waiting or not.
type Opens = fn(&OpenSpec, bool, &mut Pairs) -> Result<(), OpenError>;
static OWN: OnceLock<Opens> = OnceLock::new();

/// How this program opens the mechanism that it was made for; None of a program without one.
pub(crate) fn own() -> Option<Opens> {
    OWN.get().copied()
}

/// Makes `M` the mechanism of this program's launches.
pub fn set<M: Mechanism>() {
    let _ = OWN.set(|spec, nonblocking, pairs| match nonblocking {
        true => open_nonblocking_of::<M, _>(spec, pairs),
        false => M::open(spec, pairs),
    });
}

/// Says on standard output what `M` is, of the crate `version` under `licence`.
pub fn describe<M: Mechanism>(version: &str, licence: &str) -> i32 {
    let plugin = plugin_of::<M>(version, licence);
    let host = env!("CARGO_PKG_VERSION").to_string();
    say(plugin.map(|plugin| Described { mark: MARK.into(), host, plugin }))
}

fn plugin_of<M: Mechanism>(version: &str, licence: &str) -> Result<Plugin, String> {
    let words = |spec: &OptionSpec| OptionWords {
        name: spec.name.into(),
        words: spec.words.iter().map(ToString::to_string).collect(),
        takes_size: spec.takes_size,
    };
    let options: Vec<OptionWords> = M::OPTIONS.iter().map(words).collect();
    let variant = |chosen: BTreeMap<String, String>| {
        let options = Options::of(chosen.clone());
        let waits = match M::waits(&options) {
            Waits::Asleep => 0,
            Waits::Yielding => 1,
            Waits::Spinning => 2,
        };
        let largest = M::largest(&options).map(|bytes| bytes as u64);
        PluginVariant { options: chosen, largest, waits }
    };
    Ok(Plugin {
        name: name(M::NAME)?,
        kind: Kind::Program,
        summary: M::SUMMARY.into(),
        version: version.into(),
        language: "Rust".into(),
        licence: licence.into(),
        carries: M::TRAITS.carries,
        framing: M::TRAITS.framing,
        in_place: M::TRAITS.copies == 0,
        without_waiting: asks_without_waiting::<M>(),
        variants: combinations(&options).into_iter().map(variant).collect(),
        options,
        ..Plugin::default()
    })
}

/// Whether both ends can be asked without waiting: found by opening them; not of what can't be opened here.
fn asks_without_waiting<M: Mechanism>() -> bool {
    struct Asks;
    impl Visitor for Asks {
        type Output = bool;
        fn visit<E: Endpoint>(self, mut opened: Opened<E>) -> bool {
            let ends = [&mut opened.initiator, &mut opened.responder];
            ends.into_iter().all(|end| end.as_nonblocking().is_some())
        }
    }
    let spec =
        OpenSpec { options: Options::default(), message_bytes: 1, same_process: false, seed: 0 };
    M::open(&spec, Asks).unwrap_or(false)
}
