//! How this program was compiled (the build script of this crate passes it on): a loop of a few
//! instructions is another one under another compiler.

use serde::{Deserialize, Serialize};

/// Compiler and flags of this program. `None` in what was stored before it was recorded, and
/// where cargo didn't tell.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Build {
    /// `rustc --version`.
    pub compiler: Option<String>,
    /// The target, such as `x86_64-unknown-linux-gnu`.
    pub target: Option<String>,
    /// Cargo's profile: `release` or `debug`, or what a custom one inherits from.
    pub profile: Option<String>,
    /// Optimisation level: `0` to `3`, `s`, `z`.
    pub optimisation: Option<String>,
    /// RUSTFLAGS, from the environment or cargo's configuration; `none` where there are none.
    pub flags: Option<String>,
    /// Instruction sets that the compiler may use, as cargo names them: `fxsr,sse,sse2`.
    pub target_features: Option<String>,
}

impl Build {
    pub(super) fn of_this_program() -> Build {
        let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Build {
            compiler: told(env!("IPCMARK_COMPILER")),
            target: told(env!("IPCMARK_TARGET")),
            profile: told(env!("IPCMARK_PROFILE")),
            optimisation: told(env!("IPCMARK_OPT_LEVEL")),
            flags: told(env!("IPCMARK_FLAGS")).or(Some("none".into())),
            target_features: told(env!("IPCMARK_TARGET_FEATURES")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_known() {
        let build = Build::of_this_program();
        assert!(build.compiler.unwrap().starts_with("rustc "));
        assert!(build.target.unwrap().contains("linux"));
        assert!(build.optimisation.is_some() && build.profile.is_some());
    }
}
