//! `ipcmark lab`: two or more hosts on one machine, with switches, routers and a line that can be
//! slow, lossy or late; made of network namespaces, and gone after `lab down`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{Common, Failure, complain, pretty, print, say, screen, signals};
use ::lab::relay::Counts;
use ::lab::status::{Condition, Impairment, Relay};
use ::lab::{self, CAVEAT, LabError, State, Status};
use ::report::{terminal, units};
use ::run::launch::Interrupt;
use machine::interrupt::Removal;
use model::lab::{self as words, By};
use model::lab::{LabRequest, Loss};

/// Flags of `lab`.
#[derive(Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub enum LabCommand {
    /// Make a laboratory; needs root
    Up(UpArgs),
    /// Run a command in one of its hosts, replacing this process
    Exec(ExecArgs),
    /// Show laboratories, and how their lines are impaired
    Status(StatusArgs),
    /// Remove a laboratory, even one that is only half made
    Down(DownArgs),
    /// The process that is a line in user space
    #[command(hide = true)]
    Relay {
        /// The laboratory
        #[allow(dead_code)] // it tells processes apart in a list of them
        name: String,
    },
}

/// Flags of `lab up`.
#[derive(Args)]
pub struct UpArgs {
    /// Hosts: a, b, c, …; a and b are the ends of the chain
    #[arg(long, value_name = "N", default_value = "2", value_parser = words::hosts)]
    hosts: usize,
    /// Routers between a and b
    #[arg(long, value_name = "N", default_value = "0", value_parser = words::hops)]
    routers: usize,
    /// Switches between a and b; routers and switches alternate, a switch first
    #[arg(long, value_name = "N", default_value = "0", value_parser = words::hops)]
    switches: usize,
    /// Largest packet of every link, in bytes
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = words::mtu)]
    mtu: u32,
    /// Bandwidth of the line, each way, as in 100mbit
    #[arg(long, value_name = "RATE", value_parser = words::rate)]
    rate: Option<u64>,
    /// Share of packets that the line loses, each way, as in 5%
    #[arg(long, value_name = "SHARE", value_parser = words::loss)]
    loss: Option<Loss>,
    /// Delay of the line, each way, as in 10ms
    #[arg(long, value_name = "TIME", value_parser = words::delay)]
    delay: Option<u64>,
    /// What impairs the line: auto (the kernel where it can), kernel, relay (in user space)
    #[arg(long, value_name = "WHO", default_value = "auto", hide_possible_values = true,
          value_parser = ["auto", "kernel", "relay"])]
    by: String,
    /// Seed of the relay's losses [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = super::value_parsers::seed)]
    seed: Option<u64>,
    #[command(flatten)]
    name: Name,
}

#[derive(Args)]
struct Name {
    /// The laboratory's name
    #[arg(long, value_name = "NAME", default_value = "lab", value_parser = words::name)]
    name: String,
}

/// Flags of `lab exec`.
#[derive(Args)]
pub struct ExecArgs {
    /// The host, router or switch, as in b
    host: String,
    #[command(flatten)]
    name: Name,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Flags of `lab status`.
#[derive(Args)]
pub struct StatusArgs {
    /// The laboratory [default: all of them]
    #[arg(long, value_name = "NAME", value_parser = words::name)]
    name: Option<String>,
    /// text, or json: one object with every laboratory
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"],
          hide_possible_values = true)]
    format: String,
}

/// Flags of `lab down`.
#[derive(Args)]
pub struct DownArgs {
    #[command(flatten)]
    name: Name,
    /// Kill programs that still run in it
    #[arg(long)]
    kill: bool,
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::Usage(line) => Failure::usage(line),
            LabError::Unavailable(line) => Failure { line, code: 5 },
            LabError::Failed(line) | LabError::Left(line) => Failure::other(line),
            LabError::Stopped(signal) => {
                let line = format!("stopped by signal {signal}; what was made is removed");
                Failure { line, code: 128 + signal as u8 }
            }
        }
    }
}

/// Does what is asked with a laboratory.
pub fn lab(common: &Common, args: &LabArgs) -> Result<u8, Failure> {
    match &args.command {
        LabCommand::Up(args) => up(common, args, &signals::take_over()?)?,
        LabCommand::Exec(args) => exec(args)?,
        LabCommand::Status(args) => status(args)?,
        LabCommand::Down(args) => down(args)?,
        LabCommand::Relay { .. } => lab::relay::serve()?,
    }
    Ok(0)
}

impl UpArgs {
    pub fn asked(&self) -> Result<LabRequest, String> {
        let name = &self.name.name;
        if lab::own::is_a_runs(name) {
            return Err(format!(
                "--name {name}: runs give such names to their own labs: choose another"
            ));
        }
        let by = By::ALL.into_iter().find(|(word, _)| *word == self.by);
        let asked = LabRequest {
            name: name.clone(),
            hosts: self.hosts,
            routers: self.routers,
            switches: self.switches,
            mtu: self.mtu,
            rate: self.rate,
            // Nothing lost and nothing delayed is nothing asked for.
            loss: self.loss.filter(|loss| loss.0 > 0),
            delay_ns: self.delay.filter(|delay| *delay > 0),
            by: by.map_or(By::Auto, |(_, by)| by),
            seed: self.seed.map_or_else(super::value_parsers::drawn_seed, Ok)?,
        };
        asked.check()?;
        Ok(asked)
    }
}

fn up(common: &Common, args: &UpArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let asked = args.asked().map_err(Failure::usage)?;
    let name = &asked.name;
    let removal =
        Removal::owed(format!("laboratory {name}: `ipcmark lab down{}` removes it", named(name)));
    let state = lab::up(&asked, None, interrupt)?;
    drop(removal);
    let mut text = describe(&Status::of(&state));
    let caveat = terminal::broken(CAVEAT, 78, screen::is_ascii());
    text.extend(caveat.lines().map(|line| format!("  {line}\n")));
    if !common.quiet {
        let name = named(&asked.name);
        let host = &Status::of(&state).hosts[1];
        let _ = write!(
            text,
            "\nNext:\n  ipcmark lab exec{name} a -- ip route get {}\n  ipcmark lab exec{name} a -- \
             ipcmark run tcp udp -s 64 --peer 'ipcmark lab exec{name} b --'\n  \
             ipcmark lab status{name}\n  ipcmark lab down{name}\n",
            host.ipv4
        );
    }
    say(&text)
}

/// How a command names a laboratory: not at all if it has the usual name.
fn named(name: &str) -> String {
    if name == "lab" { String::new() } else { format!(" --name {name}") }
}

/// Becomes the command: nothing is added to its streams, and its end is its own.
fn exec(args: &ExecArgs) -> Result<(), Failure> {
    lab::inside::enter(&args.name.name, &args.host)?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::usage("no command to run: write it after --"));
    };
    let error = Command::new(program).args(arguments).exec();
    // As env(1) and shells do, so that callers can tell it from the command's own end.
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Err(Failure { line: format!("run {}: {error}", program.display()), code })
}

#[derive(Serialize)]
struct Answer<'a> {
    schema_version: u32,
    tool: &'a str,
    caveat: &'a str,
    labs: Vec<Status>,
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let states = match &args.name {
        Some(name) => vec![State::existing(name)?],
        None => State::all()?,
    };
    let labs: Vec<Status> = states.iter().map(Status::of).collect();
    if args.format == "json" {
        let (tool, caveat) = (model::tool::name(), CAVEAT);
        return print(&pretty(&Answer { schema_version: 1, tool, caveat, labs })?);
    }
    if labs.is_empty() {
        say("no laboratory is up: `ipcmark lab up` makes one\n")
    } else {
        say(&labs.iter().map(describe).collect::<Vec<_>>().join("\n"))
    }
}

/// A laboratory in a few lines.
fn describe(status: &Status) -> String {
    let mut text = format!("{}: {}", status.name, status.chain);
    for further in &status.further {
        let _ = write!(text, ", {further}");
    }
    text += "\n";
    let remove = format!("`ipcmark lab down{}` removes the rest", named(&status.name));
    let _ = match status.condition {
        Condition::Up => Ok(()),
        Condition::HalfMade => writeln!(text, "  half made: {remove}"),
        Condition::Broken => {
            writeln!(text, "  broken, {} is gone: {remove}", status.missing.join(", "))
        }
    };
    let width = |length: fn(&lab::status::Host) -> usize| {
        status.hosts.iter().map(length).max().unwrap_or(0)
    };
    let (space, short) = (width(|host| host.namespace.len()), width(|host| host.ipv4.len()));
    for host in &status.hosts {
        let lab::status::Host { name, namespace, ipv4, ipv6 } = host;
        let _ = writeln!(text, "  {name}  {ipv4:short$}  {ipv6}  in {namespace:space$}");
    }
    let _ = writeln!(text, "  MTU {} bytes on every link", status.mtu_bytes);
    for impairment in &status.impairments {
        let _ = writeln!(text, "  the line ══, each way: {}", impairment_text(impairment));
    }
    if let Some(relay) = &status.relay {
        describe_relay(&mut text, relay);
    }
    text
}

fn impairment_text(impairment: &Impairment) -> String {
    let Impairment { what, value, means, .. } = impairment;
    match *what {
        "rate" => format!("{} by {means}", words::rate_word(*value as u64)),
        "loss" => format!("{} of packets lost by {means}", Loss((value * 1e6).round() as u32)),
        _ => format!("{} later by {means}", units::duration(*value)),
    }
}

fn describe_relay(text: &mut String, relay: &Relay) {
    let _ = writeln!(text, "  relay: process {}, seed {}", relay.pid, relay.seed);
    if let Some(price) = &relay.price {
        let time = |ns: u64| units::duration(ns as f64);
        let _ = writeln!(
            text,
            "  what the relay itself costs: a UDP round trip of 64 B takes {} over one\n  that neither \
             delays nor loses, {} over a plain link (medians of {}, in turn)",
            time(price.relay_ns),
            time(price.plain_ns),
            price.round_trips
        );
    }
    let counts =
        relay.counts.filter(|counts| counts.iter().any(|count| *count != Counts::default()));
    for (counts, from) in counts.iter().flatten().zip(["a", "b"]) {
        let _ = writeln!(
            text,
            "  frames from {from}'s side: {} passed, {} lost as asked, {} found no room",
            counts.passed, counts.lost, counts.overrun
        );
    }
}

fn down(args: &DownArgs) -> Result<(), Failure> {
    let name = &args.name.name;
    let taken = lab::down(name, args.kill)?;
    for stranger in &taken.strangers {
        complain(&format!("namespace {stranger} is not the one that lab up made, and stays"));
    }
    let relay = if taken.relay { " and a relay" } else { "" };
    say(&format!("laboratory {name} is gone: {} namespaces{relay}\n", taken.namespaces))
}
