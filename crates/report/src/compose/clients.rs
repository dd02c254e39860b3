//! What each client of a server with several connections got.

use super::quantities;
use crate::Block;
use analysis::Judged;
use analysis::quantity::Topic;

/// The two measures of how evenly clients were served.
pub const EVENNESS: &str = "Worst share: of the requests due to the client that got least, those answered before the \
     schedule ended. Jain's index of the clients' shares is 1 where all got the same, 1/n where one of n got all";

const REST: &str = "both with an interval over launches. p50 and p99: of the median client, and of the client that \
     waits longest.";

/// Who drives the connections, each of a client of its own.
fn driven_by(generators: u32) -> String {
    match generators {
        0 | 1 => "One generator drives all connections, each of a client of its own".into(),
        many => format!(
            "Up to {many} generators, each on a CPU of its own, drive the connections, each of a client of its own"
        ),
    }
}

/// A table of every measured case with several connections.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let generators = judged.results.iter().filter_map(|case| case.rate?.generators).max();
    let note = format!(
        "{}; the server waits for whichever has a request. {EVENNESS}; {REST}",
        driven_by(generators.unwrap_or(1))
    );
    let table = quantities::table(judged, Topic::Clients, "What each client got");
    table.map(|table| table.note(note).into()).into_iter().collect()
}
