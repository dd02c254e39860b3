//! The tests of the program that no others may run beside: what counts and removes what lies on the machine, meets its limits,
//! or waits for hosts. One program, a module for each subject, one subject at a time, so that `cargo test lab::` runs one.

#[path = "../cli_support/mod.rs"]
mod cli_support;
#[path = "../common/mod.rs"]
mod common;
#[path = "../long_form/mod.rs"]
mod long_form;

/// Tests of one subject run beside each other; those of others wait (`common::rooms`).
const ONE_SUBJECT_AT_A_TIME: bool = true;

mod capacity;
mod choose;
mod conformance;
mod connect;
mod connections;
mod counts;
mod do_no_harm;
mod exhaustion;
mod fault_campaign;
mod hosts;
mod interruptions;
mod lab;
mod lab_ownership;
mod limits;
mod lost_wake_ups;
mod observed;
mod odd_machines;
mod privileges;
mod trace;
mod turns;
