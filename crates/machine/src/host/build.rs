//! How this program was compiled (the build script of this crate passes it on): a loop of a few
//! instructions is another one under another compiler.

use model::host::Build;
pub(super) fn of_this_program() -> Build {
    let from = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Build {
        compiler: from(env!("IPCMARK_COMPILER")),
        target: from(env!("IPCMARK_TARGET")),
        profile: from(env!("IPCMARK_PROFILE")),
        optimisation: from(env!("IPCMARK_OPT_LEVEL")),
        flags: from(env!("IPCMARK_FLAGS")).or(Some("none".into())),
        target_features: from(env!("IPCMARK_TARGET_FEATURES")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_known() {
        let build = of_this_program();
        assert!(build.compiler.unwrap().starts_with("rustc "));
        assert!(build.target.unwrap().contains("linux"));
        assert!(build.optimisation.is_some() && build.profile.is_some());
    }
}
