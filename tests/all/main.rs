//! The tests of the program that run beside each other: one program, a module for each subject, so that
//! `cargo test exports::` runs one subject. What no others may run beside is in tests/alone.

#[path = "../cli_support/mod.rs"]
mod cli_support;
#[path = "../common/mod.rs"]
mod common;
#[path = "../long_form/mod.rs"]
mod long_form;

/// Tests of all subjects run beside each other (`common::rooms`).
const ONE_SUBJECT_AT_A_TIME: bool = false;

mod across_cpus;
mod arms;
mod beside;
mod bounds;
mod coding;
mod command_line;
mod compare;
mod config_file;
mod cpu_pairs;
mod data_files;
mod datagrams;
mod dependencies;
mod doctor;
mod duplex;
mod energy;
mod engines;
mod explain;
mod export_schema;
mod exports;
mod factors;
mod fan_out;
mod first_use;
mod first_words;
mod floors;
mod guard;
mod identity;
mod launch_faults;
mod load;
mod many_initiators;
mod memory;
mod messaging;
mod oracle;
mod outputs;
mod peer_doors;
mod plugins;
mod rate;
mod release;
mod reliability;
mod report_render;
mod report_svg;
mod routes;
mod run_index;
mod running_server;
mod screening;
mod seams;
mod shared;
mod simulations;
mod slices;
mod store_access;
mod store_damage;
mod studies;
mod study;
mod study_page;
mod write_up;
