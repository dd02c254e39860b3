//! Which tests of a program may run beside which others.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

use crate::ONE_SUBJECT_AT_A_TIME;

static PLACE: RwLock<()> = RwLock::new(());

/// No other test of this program meanwhile: of those that count what the process and the machine hold, or
/// spin on both CPUs.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    enter();
    PLACE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Beside other tests, but beside none that is [`alone`].
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    enter();
    PLACE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The subject whose tests run now, and how many do.
static SUBJECT: Mutex<(String, usize)> = Mutex::new((String::new(), 0));
static LEFT: Condvar = Condvar::new();

/// One test of the subject that runs.
struct Inside;

thread_local! {
    static HERE: RefCell<Option<Inside>> = const { RefCell::new(None) };
}

/// From here to its end, tests of other subjects wait for this one, in a program that has one subject at a time. Whatever
/// starts something enters first: a bench, a launch, an end.
pub fn enter() {
    let thread = thread::current();
    // A test's thread has its name; whatever other thread it starts is inside with it.
    let subject = thread.name().and_then(|name| name.split_once("::"));
    let inside = HERE.with_borrow(Option::is_some);
    let (true, Some((subject, _)), false) = (ONE_SUBJECT_AT_A_TIME, subject, inside) else {
        return;
    };
    let mut now = SUBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    while now.1 > 0 && now.0 != subject {
        now = LEFT.wait(now).unwrap_or_else(PoisonError::into_inner);
    }
    *now = (subject.to_string(), now.1 + 1);
    HERE.set(Some(Inside));
}

impl Drop for Inside {
    fn drop(&mut self) {
        SUBJECT.lock().unwrap_or_else(PoisonError::into_inner).1 -= 1;
        LEFT.notify_all();
    }
}
