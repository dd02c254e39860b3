//! The C library this program runs with. glibc's version is in a banner in its file, which is
//! found among the mapped files: asking the library itself takes a foreign call, asking `ldd` a
//! process. musl has no banner.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use model::host::CLibrary;

use crate::tree;

pub(super) fn read(root: &Path) -> CLibrary {
    let path = tree::text(root, "proc/self/maps").as_deref().and_then(mapped);
    let banner = path.as_deref().and_then(|path| {
        let file = File::open(root.join(path.trim_start_matches('/'))).ok()?;
        banner(BufReader::with_capacity(64 * 1024, file))
    });
    let (build, version) = banner.unzip();
    let name = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    // A dynamic program that the linker itself was told to run has no interpreter, but the library mapped.
    let linked_in = path.is_none() && !has_interpreter(root).unwrap_or(true);
    let version = version.or_else(sys::c_library::glibc_version);
    CLibrary { name: name.to_owned(), linked_in, path, version, build }
}

/// Whether a dynamic linker was loaded with this program (AT_BASE of getauxval(3)); None where that can't be read.
fn has_interpreter(root: &Path) -> Option<bool> {
    const AT_BASE: usize = 7;
    const WORD: usize = size_of::<usize>();
    let vector =
        std::fs::read(root.join("proc/self/auxv")).ok().filter(|bytes| !bytes.is_empty())?;
    let words: Vec<usize> = vector
        .chunks_exact(WORD)
        .map(|word| usize::from_ne_bytes(word.try_into().expect("a word")))
        .collect();
    let base = words.chunks_exact(2).find(|pair| pair[0] == AT_BASE).map(|pair| pair[1]);
    Some(base.is_some_and(|base| base != 0))
}

/// The C library among the mapped files: `libc.so.6`, before glibc 2.34 `libc-2.31.so`, musl's
/// `ld-musl-x86_64.so.1` or `libc.so`.
fn mapped(maps: &str) -> Option<String> {
    let is_libc = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or("");
        name == "libc.so.6"
            || name == "libc.so"
            || name.starts_with("ld-musl-")
            || (name.starts_with("libc-") && name.ends_with(".so"))
    };
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    paths.into_iter().find(is_libc).map(str::to_owned)
}

/// Build and version from glibc's `GNU C Library (BUILD) stable release version VERSION.`
///
/// Two megabytes are looked through for each `(`, which the C library's own memchr does fast.
fn banner(mut file: impl BufRead) -> Option<(String, String)> {
    let mut text = Vec::new();
    loop {
        text.clear();
        if file.read_until(b'(', &mut text).ok()? == 0 {
            return None;
        }
        if !text.ends_with(b"GNU C Library (") {
            continue;
        }
        text.clear();
        file.read_until(b'\n', &mut text).ok()?;
        let line = String::from_utf8_lossy(&text);
        let (build, rest) = line.split_once(')')?;
        let (_, version) = rest.split_once(" release version ")?;
        let version = version.trim_end().trim_end_matches('.');
        return Some((build.to_owned(), version.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn the_banner_is_found_among_noise() {
        let file = b"\x7fELF(x\0GNU C(\0\xffGNU C Library (Debian GLIBC 2.36-9+deb12u10) \
            stable release version 2.36.\nCopyright (C) 2022\n";
        let (build, version) = banner(&file[..]).unwrap();
        assert_eq!((build.as_str(), version.as_str()), ("Debian GLIBC 2.36-9+deb12u10", "2.36"));
        assert_eq!(banner(&b"\x7fELF(musl)"[..]), None);
    }

    /// With `AT_BASE` and `AT_NULL`.
    fn with_base(base: usize) -> tempfile::TempDir {
        let root =
            stored::unpack([("proc/self/maps", "55d0-55d1 r--p 0 fe:00 1 /usr/bin/ipcmark")]);
        let words: Vec<u8> =
            [3, 64, 7, base, 0, 0].iter().flat_map(|number: &usize| number.to_ne_bytes()).collect();
        std::fs::write(root.path().join("proc/self/auxv"), words).unwrap();
        root
    }

    #[test]
    fn a_program_without_a_linker_has_the_library_inside() {
        let inside = read(with_base(0).path());
        assert!(inside.linked_in && inside.path.is_none());
        assert_eq!(inside.version, sys::c_library::glibc_version());
        assert!(!read(with_base(0x7f00).path()).linked_in);
        let unknown = read(tempfile::tempdir().unwrap().path());
        assert!(!unknown.linked_in, "what can't be read is not claimed");
        let own = read(Path::new("/"));
        assert_eq!(own.linked_in, own.path.is_none());
        assert_eq!(own.version.is_some(), cfg!(target_env = "gnu"));
    }

    #[test]
    fn the_mapped_file_is_the_one_in_use() {
        let maps = "55d0-55d1 r--p 00000000 fe:00 1 /usr/bin/libcheck\\n\
            7f00-7f01 r--p 00000000 fe:00 2 /usr/lib/libc.so.6\\n7ffc-7ffd rw-p 0 00:00 0 [stack]";
        let root = stored::unpack([
            ("proc/self/maps", maps),
            (
                "usr/lib/libc.so.6",
                "GNU C Library (Ubuntu GLIBC 2.39-0) stable release version 2.39.",
            ),
        ]);
        let library = read(root.path());
        assert_eq!(library.path.as_deref(), Some("/usr/lib/libc.so.6"));
        assert_eq!(library.version.as_deref(), Some("2.39"));
        let older = mapped("7f00-7f01 r--p 0 fe:00 2   /lib/x86_64-linux-gnu/libc-2.31.so");
        assert_eq!(older.as_deref(), Some("/lib/x86_64-linux-gnu/libc-2.31.so"));
        assert_eq!(mapped("7f00-7f01 r-xp 0 fe:00 2   /usr/lib/libcrypto.so.3"), None);
    }
}
