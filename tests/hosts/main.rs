//! Runs on several hosts: between two, and on the nodes of a fleet. One program, since much of it waits for
//! deadlines of hosts that are silent, and for the daemons of others.

#[path = "../cli_support/mod.rs"]
mod cli_support;
#[path = "../long_form/mod.rs"]
mod long_form;

mod fleet;
mod fleet_slurm;
mod peer;
mod peer_hosts;
mod reliability_hosts;
