//! What this program calls itself in all that it writes.

use std::sync::OnceLock;

static BUILT_FROM: OnceLock<&'static str> = OnceLock::new();
static NAME: OnceLock<String> = OnceLock::new();

/// Says what the program was built from, as in `7ba686f2c1d0`; before anything asks for its name. Nothing where nobody
/// knows.
pub fn built_from(what: &'static str) {
    let _ = BUILT_FROM.set(what);
}

/// `ipcmark 0.1.0 (7ba686f2c1d0)`: two programs that measure differently have two names.
pub fn name() -> &'static str {
    NAME.get_or_init(|| named(BUILT_FROM.get().copied().unwrap_or_default()))
}

fn named(built_from: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match built_from {
        "" => format!("ipcmark {version}"),
        built_from => format!("ipcmark {version} ({built_from})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_holds_what_is_known() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(named(""), format!("ipcmark {version}"));
        assert_eq!(
            named("7ba686f2c1d0, modified"),
            format!("ipcmark {version} (7ba686f2c1d0, modified)")
        );
    }
}
