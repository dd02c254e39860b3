//! The floor process: measures one part after the other, and tells its owner after each, so
//! that what was found before a crash isn't lost with it.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::{NOT_YET, Order, WireOrder, rounds};
use crate::launch::wire::{self, Reader, write_frame};
use ::floors::{Setting, calls, clocks, copy, line, pin, wake_up};
use model::floors::{Floors, Part};
use model::json::Json;

/// How long the order may take to come.
const ORDERED_WITHIN: Duration = Duration::from_secs(10);

/// Serves one order over standard input and output; gives the exit code.
pub fn serve() -> u8 {
    let mut owner = Reader::new(io::stdin());
    let asked = if io::stdin().is_terminal() {
        None
    } else {
        owner.next(Some(Instant::now() + ORDERED_WITHIN), None).ok()
    };
    let order = match asked {
        Some((wire::FrameKind::Spec, text)) => serde_json::from_slice::<WireOrder>(&text).ok(),
        _ => None,
    };
    let Some(WireOrder { owner: asker, order, rounds }) = order else {
        eprintln!("floor-worker: takes an order on standard input; `ipcmark floor` starts it");
        return 2;
    };
    let dies_with_owner = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if !dies_with_owner || getppid() != Pid::from_raw(asker as i32) {
        return 1;
    }
    let done = if rounds { rounds::serve(order, &mut owner) } else { work(order) };
    u8::from(done.is_err())
}

fn work(order: Order) -> io::Result<()> {
    let began = Instant::now();
    let mut floors = Floors::unavailable(order.extent, NOT_YET);
    match Setting::find(order) {
        Err(reason) => floors = Floors::unavailable(floors.extent, &reason),
        Ok(setting) => {
            floors.cpu = Some(setting.home);
            floors.clocks = Part::Measured(clocks::measure(&setting));
            tell(&mut floors, began)?;
            floors.calls = calls::measure(&setting).into();
            tell(&mut floors, began)?;
            floors.line = line::measure(&setting).into();
            tell(&mut floors, began)?;
            floors.wake_up = wake_up::measure(&setting).into();
            tell(&mut floors, began)?;
            // Last, because it takes memory: where that is short, the kernel kills.
            floors.copy = pin(setting.home).map(|()| copy::measure(&setting)).into();
        }
    }
    tell(&mut floors, began)?;
    write_frame(io::stdout(), wire::FrameKind::Done, &[])
}

/// Tells the owner what is known by now; the last word counts.
fn tell(floors: &mut Floors, began: Instant) -> io::Result<()> {
    floors.took_ns = began.elapsed().as_nanos() as u64;
    write_frame(io::stdout(), wire::FrameKind::Record, floors.to_json().as_bytes())
}
