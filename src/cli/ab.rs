//! `ipcmark ab A B`: two commands in the same rounds, which is `ipcmark run --arm A=… --arm B=…`.

use clap::Args;

use super::args::RunArgs;
use super::arms::ArmArgs;
use super::value_parsers::{Task, tasks};
use super::{Common, Failure, run};
use ::run::launch::Interrupt;
use model::workload::Workload;

/// What is measured where nothing is named, round trips of it: a pipe, both common sockets, and a wake-up alone.
const MECHANISMS: [&str; 4] = ["pipe", "unix-stream", "tcp", "eventfd"];

/// Flags of `ab`: those of `run`, behind two commands.
#[derive(Args)]
#[command(mut_arg("mechanisms", |arg| arg.help("Mechanisms, with options [default: pipe, unix-stream, tcp, eventfd]")))]
#[command(mut_arg("workload", |arg| arg.help(tasks("latency"))))]
pub struct AbArgs {
    /// The command prefix of A, as in 'chrt -f 50'; '' is none. A command that ends in launch is run as it is:
    /// './other/ipcmark launch'
    #[arg(value_name = "PREFIX A")]
    a: String,
    /// The prefix of B, which is compared with A
    #[arg(value_name = "PREFIX B")]
    b: String,
    #[command(flatten)]
    run: RunArgs,
}

/// Measures under both, and says of each case whether B is faster or slower.
pub fn ab(common: &Common, args: &AbArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let mut run = args.run.clone();
    if run.arms.are_given() {
        return Err(Failure::usage(
            "ab: it has two arms already: leave --arm out, or use `ipcmark run`",
        ));
    }
    run.arms = ArmArgs::of_two(&args.a, &args.b).map_err(Failure::usage)?;
    if run.resume.is_none() {
        if run.mechanisms.is_empty() {
            run.mechanisms = MECHANISMS.map(String::from).to_vec();
        }
        if run.workload.is_empty() {
            run.workload = vec![Task::Workload(Workload::Latency)];
        }
    }
    run::chosen(common, &run, interrupt)
}
