//! The points where the kernel's programs listen, and which of them a scope wants.

use std::ffi::CStr;

use model::probe::Scope;

/// A program, and its tracepoints.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The program's section in the object.
    pub program: &'static str,
    /// Raw tracepoints; it is traced if there is any of these.
    pub tracepoints: &'static [&'static CStr],
    /// Whether a trace goes on without it.
    pub optional: bool,
    /// What it belongs to: none for the marks of the workers, which every trace wants.
    scope: Option<Scope>,
    /// Its place among the firings (`enum point`); the marks have none.
    pub counted: Option<usize>,
}

const fn point(
    program: &'static str,
    tracepoints: &'static [&'static CStr],
    scope: Scope,
    counted: usize,
) -> Point {
    let optional = matches!(scope, Scope::All);
    Point { program, tracepoints, optional, scope: Some(scope), counted: Some(counted) }
}

/// The interrupts by which CPUs call each other: to think about whom to run, to do something.
const INTERRUPTS: &[&CStr] = &[c"reschedule_entry", c"call_function_single_entry", c"ipi_entry"];

pub const POINTS: &[Point] = &[
    Point {
        program: "task_rename",
        tracepoints: &[c"task_rename"],
        optional: false,
        scope: None,
        counted: None,
    },
    point("sys_enter", &[c"sys_enter"], Scope::Calls, 0),
    point("sys_exit", &[c"sys_exit"], Scope::Calls, 1),
    point("sched_waking", &[c"sched_waking"], Scope::Scheduler, 2),
    point("sched_wakeup", &[c"sched_wakeup"], Scope::Scheduler, 3),
    point("sched_switch", &[c"sched_switch"], Scope::Scheduler, 4),
    point("ipi_send_cpu", &[c"ipi_send_cpu"], Scope::All, 5),
    point("interrupt_entry", INTERRUPTS, Scope::All, 6),
    point("sock_send_length", &[c"sock_send_length"], Scope::All, 7),
    point("sock_recv_length", &[c"sock_recv_length"], Scope::All, 8),
];

impl Point {
    /// Its tracepoints, as they are written down.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.tracepoints.iter().map(|tracepoint| tracepoint.to_string_lossy().into_owned())
    }

    /// The points of `scope`.
    pub fn all_of(scope: Scope) -> impl Iterator<Item = &'static Point> {
        let wanted = move |point: &&Point| match point.scope {
            None => true,
            Some(own) => own == scope || scope == Scope::All,
        };
        POINTS.iter().filter(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_the_scheduler_leaves_system_calls_alone() {
        let of = |scope| Point::all_of(scope).map(|point| point.program).collect::<Vec<_>>();
        assert_eq!(of(Scope::Calls), ["task_rename", "sys_enter", "sys_exit"]);
        let scheduler = ["task_rename", "sched_waking", "sched_wakeup", "sched_switch"];
        assert_eq!(of(Scope::Scheduler), scheduler);
        assert_eq!(of(Scope::All).len(), POINTS.len());
    }
}
