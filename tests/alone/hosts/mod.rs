//! Runs on several hosts: between two, and on the nodes of a fleet. One subject, since much of it waits for
//! deadlines of hosts that are silent, and for the daemons of others.

mod fleet;
mod fleet_slurm;
mod peer;
mod peer_hosts;
mod reliability_hosts;
