//! Says how the program is linked, and what it is built from.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo:rerun-if-changed=build.rs");
    // A development build would be compiled anew, with all its tests, for every commit: it says so instead.
    let built_from = match variable("PROFILE").as_str() {
        "release" => commit(Path::new(&variable("CARGO_MANIFEST_DIR"))).unwrap_or_default(),
        _ => "development build".into(),
    };
    println!("cargo:rustc-env=IPCMARK_BUILT_FROM={built_from}");
    let is_static = variable("CARGO_CFG_TARGET_FEATURE").contains("crt-static");
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" && !is_static {
        link_to_one_address();
        if variable("OPT_LEVEL") == "z" {
            link_without_unwind_tables(Path::new(&variable("OUT_DIR")));
        }
        if variable("HOST") == variable("TARGET") {
            link_without_libraries(&Path::new(&variable("OUT_DIR")).join("link"));
        }
    }
}

/// What the program is compiled from.
const SOURCES: [&str; 7] =
    ["src", "crates", "studies", "bpf", "build.rs", "Cargo.toml", "Cargo.lock"];

/// The commit that is checked out in `root`, and whether the sources differ from it: `7ba686f2c1d0`,
/// `7ba686f2c1d0, modified`. None where this isn't a checkout, as of what was unpacked from an archive, also where that
/// lies inside of another project's checkout. It is asked for anew when a source or what is checked out has changed.
pub fn commit(root: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        // It isn't to write into the checkout, and reads no other than this one.
        git.arg("-C").arg(root).args(words).env("GIT_OPTIONAL_LOCKS", "0");
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].iter().for_each(|name| {
            git.env_remove(name);
        });
        let said = git.output().ok().filter(|said| said.status.success())?;
        Some(String::from_utf8(said.stdout).ok()?.trim_end().to_owned())
    };
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let watch = |path: &OsStr| {
        if root.join(path).exists() {
            println!("cargo:rerun-if-changed={}", root.join(path).display());
        }
    };
    SOURCES.iter().for_each(|source| watch(source.as_ref()));
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        git(&["rev-parse", "--git-path", name]).iter().for_each(|path| watch(path.as_ref()));
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, modified") })
}

/// Links the program to the address where it runs. Each launch executes it anew, and a program that
/// goes anywhere first corrects 13,000 pointers on 48 pages, each of which costs a fault and a copy: an
/// eighth of what a launch costs. Stack, heap and mappings still move.
fn link_to_one_address() {
    println!("cargo:rustc-link-arg-bin=ipcmark=-no-pie");
}

/// Leaves out of a small program what only a trace of a panic reads: a tenth of it. Panics abort, and of a program without
/// symbols a trace names nothing. The C library's first and last files are looked for by address.
fn link_without_unwind_tables(folder: &Path) {
    let script = folder.join("unwind.lds");
    let tables = "*(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame) *(.gcc_except_table .gcc_except_table.*)";
    let text = format!("SECTIONS {{ /DISCARD/ : {{ {tables} }} }}\nINSERT AFTER .comment;\n");
    if std::fs::write(&script, text).is_ok() {
        println!("cargo:rustc-link-arg-bin=ipcmark=-Wl,-T,{}", script.display());
    }
}

/// Links the program with the C library inside, where there is an archive of it: finding, mapping and
/// binding shared ones is a quarter of what a launch costs (docs/LIMITS.md), and a program without them
/// runs on hosts that have another. The feature `crt-static` would do it for everything that is
/// compiled, and procedural macros must be shared.
///
/// The compiler asks for shared libraries by name: in `folder`, which the linker searches first, each
/// of these names stands for archives.
fn link_without_libraries(folder: &Path) {
    let archive = |name: &str| {
        let linker = std::env::var("RUSTC_LINKER").unwrap_or("cc".into());
        let said = Command::new(linker).arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim_end());
        // A name that isn't found comes back as it went.
        path.is_absolute().then_some(path)
    };
    let stand_in = |name: &str, archives: &[&str]| {
        let archives: Option<Vec<PathBuf>> = archives.iter().map(|text| archive(text)).collect();
        let quoted = archives?.iter().map(|path| format!("{path:?} ")).collect::<String>();
        std::fs::write(folder.join(name), format!("GROUP ( {quoted})\n")).ok()
    };
    let stand_ins = std::fs::create_dir_all(folder).ok().and_then(|()| {
        stand_in("libc.so", &["libc.a"])?;
        stand_in("libm.so", &["libm.a"])?;
        stand_in("libgcc_s.so", &["libgcc_eh.a", "libgcc.a", "libc.a"])
    });
    if stand_ins.is_some() {
        println!("cargo:rustc-link-arg-bin=ipcmark=-static");
        println!("cargo:rustc-link-arg-bin=ipcmark=-L{}", folder.display());
    }
}
