//! Where a case ran, and under which arm, as far as reports tell places of a run apart.

use model::case::Case;
use model::launch::Workers;
use model::placement::Placement;
use model::route::Route;

/// Workers and their CPUs, between which hosts, under which arm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Processes or threads.
    pub workers: Workers,
    /// In a run of several routes that of what isn't local.
    pub route: Option<Route>,
    pub placement: Placement,
    /// The arm under which it was measured.
    pub arm: Option<String>,
}

impl Site {
    /// That of a case whose run has one route.
    pub fn of<V>(case: &Case<V>) -> Site {
        Site {
            workers: case.workers,
            route: None,
            placement: case.placement,
            arm: case.arm.clone(),
        }
    }
}

/// What embeds a `case`, and is one: its factors are read as if they were its own.
macro_rules! is_a_case {
    ($of:ty) => {
        is_a_case!($of, String);
    };
    ($of:ty, $variant:ty) => {
        impl std::ops::Deref for $of {
            type Target = model::case::Case<$variant>;

            fn deref(&self) -> &Self::Target {
                &self.case
            }
        }

        impl std::ops::DerefMut for $of {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.case
            }
        }
    };
}
pub(crate) use is_a_case;
