//! What surrounds a measurement: the description of the host, its topology, the noise ledger.
