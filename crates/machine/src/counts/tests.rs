use model::counts::{FIGURES, MODES};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use sys::perf::{Event, Kernel, Mode, Reading};

/// A machine whose counters say what a test wants.
#[derive(Default)]
struct Fake {
    refuses: BTreeMap<Event, i32>,
    /// Share of the time that a counter runs, in percent.
    runs: Cell<u64>,
    opened: RefCell<Vec<(Event, Mode)>>,
    running: Rc<Cell<bool>>,
}

impl Fake {
    fn new() -> Fake {
        Fake { runs: Cell::new(100), ..Fake::default() }
    }

    fn refusing(event: Event, code: i32) -> Fake {
        Fake { refuses: BTreeMap::from([(event, code)]), ..Fake::new() }
    }
}

/// Every counter counts seven in ten milliseconds between two looks.
struct Faked {
    reading: Reading,
    step: Reading,
}

impl Count for Faked {
    fn read(&mut self) -> io::Result<Reading> {
        let now = self.reading;
        self.reading.count += self.step.count;
        self.reading.enabled += self.step.enabled;
        self.reading.running += self.step.running;
        Ok(now)
    }
}

impl Perf for Fake {
    fn open(&self, event: Event, mode: Mode) -> io::Result<Box<dyn Count>> {
        if let Some(code) = self.refuses.get(&event) {
            return Err(io::Error::from_raw_os_error(*code));
        }
        self.opened.borrow_mut().push((event, mode));
        let enabled = Duration::from_millis(10);
        let running = enabled * self.runs.get() as u32 / 100;
        let step = Reading { count: 7, enabled, running };
        Ok(Box::new(Faked { reading: Reading { count: 100, ..step }, step }))
    }

    fn start(&self) {
        self.running.set(true);
    }

    fn stop(&self) {
        self.running.set(false);
    }
}

/// A machine with tracefs and a level of paranoia.
fn machine(paranoid: i32) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: String| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(PARANOID, paranoid.to_string());
    let tracepoints = ["sched/sched_wakeup", "ipi/ipi_send_cpu", "raw_syscalls/sys_enter"];
    for (nth, tracepoint) in tracepoints.iter().enumerate() {
        write(&format!("sys/kernel/tracing/events/{tracepoint}/id"), (100 + nth).to_string());
    }
    root
}

#[test]
fn a_family_is_small_enough_for_the_hardware() {
    let root = machine(2);
    for family in Family::ALL {
        let counters = super::counters(family, root.path());
        assert!(!counters.is_empty(), "{family}");
        assert_eq!(
            counters.iter().any(|counter| counter.event.is_hardware()),
            family.is_hardware()
        );
        if family.is_hardware() {
            assert!(counters.len() <= 4, "{family}: four counters is what every processor has");
        }
        assert_eq!(family.name().parse(), Ok(family));
    }
    let error = "l3".parse::<Family>().unwrap_err();
    assert!(error.contains("`l3`") && error.contains("l1d"), "{error}");
}

#[test]
fn a_tracepoint_that_the_kernel_lacks_is_left_out() {
    let root = machine(2);
    let names: Vec<String> = super::counters(Family::Software, root.path())
        .into_iter()
        .map(|counter| counter.name)
        .collect();
    assert!(names.contains(&"wake-ups".into()) && names.contains(&"interrupts-sent".into()));
    assert!(!names.contains(&"interrupts-taken".into()), "there is no such tracepoint here");
}

#[test]
fn user_and_kernel_are_counted_separately() {
    let (root, perf) = (machine(2), Fake::new());
    let mut counting = Counting::open(&perf, Family::Core, 1, root.path()).ok().unwrap();
    counting.start().unwrap();
    assert!(perf.running.get());
    let counts = counting.stop(5).unwrap();
    assert!(!perf.running.get());
    assert_eq!(counts.operations, 5);
    let names: Vec<&str> = counts.events.keys().map(String::as_str).collect();
    assert_eq!(names, ["cycles:k", "cycles:u", "instructions:k", "instructions:u"]);
    let asked = [
        (Event::Instructions, Mode::User),
        (Event::Instructions, Mode::Kernel),
        (Event::Cycles, Mode::User),
        (Event::Cycles, Mode::Kernel),
    ];
    assert_eq!(*perf.opened.borrow(), asked);
}

#[test]
fn our_own_call_is_not_among_the_calls() {
    let (root, perf) = (machine(2), Fake::new());
    let mut counting = Counting::open(&perf, Family::Calls, 1, root.path()).ok().unwrap();
    counting.start().unwrap();
    let counts = counting.stop(1).unwrap();
    assert_eq!((counts.events["calls"], counts.events["read"]), (6, 7));
}

#[test]
fn a_counter_that_had_to_share_fails_the_launch() {
    let (root, perf) = (machine(2), Fake::new());
    perf.runs.set(60);
    let mut counting = Counting::open(&perf, Family::Core, 1, root.path()).ok().unwrap();
    counting.start().unwrap();
    let error = counting.stop(1).unwrap_err().to_string();
    assert!(error.contains("ran 60 % of the time"), "{error}");
}

#[test]
fn an_obstacle_is_named_with_its_remedy() {
    let root = machine(3);
    let refused = |perf: &Fake, family| Counting::open(perf, family, 1, root.path()).err().unwrap();

    let none = refused(&Fake::refusing(Event::Instructions, libc::ENOENT), Family::Core);
    assert!(none.reason.contains("no counter of instructions:u"), "{none:?}");
    assert_eq!(none.remedy, None);

    let denied = refused(&Fake::refusing(Event::Cycles, libc::EACCES), Family::Core);
    assert!(denied.reason.contains("perf_event_paranoid is 3, 1 or"), "{denied:?}");
    assert_eq!(denied.remedy.as_deref(), Some("sysctl kernel.perf_event_paranoid=1"));

    let traced = refused(&Fake::refusing(Event::Tracepoint(100), libc::EPERM), Family::Software);
    assert!(traced.reason.contains("wake-ups") && traced.reason.contains("-1"), "{traced:?}");

    let files = refused(&Fake::refusing(Event::Tracepoint(102), libc::EMFILE), Family::Calls);
    assert!(files.reason.contains("too many open files"), "{files:?}");

    let old = refused(&Fake::refusing(Event::ContextSwitches, libc::ENOSYS), Family::Software);
    assert!(old.reason.contains("no perf_event_open"), "{old:?}");

    let busy = refused(&Fake::refusing(Event::Cycles, libc::EBUSY), Family::Core);
    assert!(busy.reason.contains("another program"), "{busy:?}");

    let bare = tempfile::tempdir().unwrap();
    let unmounted = Counting::open(&Fake::new(), Family::Calls, 1, bare.path()).err().unwrap();
    assert!(unmounted.remedy.unwrap().starts_with("mount -t tracefs"));
}

#[test]
fn the_kernel_counts_what_a_thread_does() {
    let root = Path::new("/");
    let mut counting = match Counting::open(&Kernel, Family::Software, 1, root) {
        Ok(counting) => counting,
        Err(refusal) => return eprintln!("skipped: {}", refusal.reason),
    };
    for _ in 0..2 {
        counting.start().unwrap();
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let counts = counting.stop(3).unwrap();
        let switches = counts.events["context-switches"];
        assert!((3..100).contains(&switches), "{counts:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_figure_divides_what_families_count_and_stands_with_one_of_them() {
    let root = machine(2);
    let names = |family: &Family| -> Vec<String> {
        super::counters(*family, root.path()).into_iter().map(|counter| counter.name).collect()
    };
    let all: Vec<String> = Family::ALL.iter().flat_map(names).collect();
    for figure in FIGURES {
        for mode in MODES {
            for event in [figure.top, figure.bottom] {
                assert!(all.contains(&format!("{event}:{mode}")), "{figure:?}: {event}");
            }
            let own = names(&figure.family);
            let stands =
                [figure.top, figure.bottom].map(|text| own.contains(&format!("{text}:{mode}")));
            assert!(stands.contains(&true), "{figure:?} has nothing of its family");
        }
    }
    for family in Family::ALL.iter().filter(|family| family.is_hardware()) {
        assert_eq!(family.names(), names(family), "{family}");
    }
    let here = names(&Family::Software);
    assert!(here.iter().all(|name| Family::Software.names().contains(name)), "{here:?}");
}
