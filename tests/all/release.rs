//! What `release/build` makes: installed from nothing, run, and gone again. It packages the program of these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cli_support::{Bench, has, say};

const TREE: &str = env!("CARGO_MANIFEST_DIR");

fn must(command: &mut Command) -> Output {
    let said = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        said.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
    said
}

/// Everything that is released, in a folder; None, said aloud, without Python.
fn made(bench: &Bench) -> Option<PathBuf> {
    let (dist, stripped) = (bench.path("dist"), bench.path("program"));
    let strip =
        Command::new("strip").arg("-o").arg(&stripped).arg(env!("CARGO_BIN_EXE_ipcmark")).output();
    if !strip.is_ok_and(|said| said.status.success()) {
        std::fs::copy(env!("CARGO_BIN_EXE_ipcmark"), &stripped).unwrap();
    }
    let mut build = Command::new("python3");
    build.arg(Path::new(TREE).join("release/build")).arg("--program");
    build.arg(&stripped).arg("--out").arg(&dist);
    match build.output() {
        Err(error) => {
            say(&format!("skipped what is released: python3: {error}"));
            None
        }
        Ok(said) => {
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            Some(dist)
        }
    }
}

fn one(folder: &Path, ends: &str) -> PathBuf {
    let found = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut found = found.filter(|path| path.to_string_lossy().ends_with(ends));
    found.next().unwrap_or_else(|| panic!("no {ends} in {}", folder.display()))
}

fn is_root() -> bool {
    // What `id` says; a chroot is root's.
    Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n")
}

/// Runs `program` of a root that has nothing else, as nobody.
fn runs_in(root: &Path, program: &str) {
    if !is_root() {
        return say("skipped a chroot: it is root's");
    }
    let folder = root.join("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    must(Command::new("chmod").arg("1777").arg(&folder));
    must(Command::new("mkdir").arg("-p").arg(root.join("proc")).arg(root.join("dev")));
    let line = "mount -t proc proc \"$0/proc\" && mount --bind /dev \"$0/dev\" && \
                chroot --userspec=65534:65534 \"$0\" \"$1\" --store /tmp/runs.sqlite run pipe eventfd \
                -w latency -s 64 -p free --launches 2 --samples 20";
    let said = must(Command::new("unshare").args(["-m", "sh", "-c", line]).arg(root).arg(program));
    assert!(String::from_utf8_lossy(&said.stdout).contains("pipe"), "{said:?}");
}

/// `.ci/run` has no time to build them: `cargo package --workspace --offline` does.
#[test]
fn packages_hold_what_they_are_built_from_and_name_no_builder() {
    let bench = Bench::new();
    let target = bench.path("target");
    let words = ["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet"];
    let mut cargo = Command::new(env!("CARGO"));
    must(cargo.args(words).arg("--target-dir").arg(&target).current_dir(TREE));
    let folder = target.join("package");
    let packages: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
    let crates = packages.iter().filter(|path| path.extension().is_some_and(|is| is == "crate"));
    for archive in crates.clone() {
        must(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(bench.path("")));
    }
    assert_eq!(crates.count(), 1 + std::fs::read_dir(format!("{TREE}/crates")).unwrap().count());
    for package in std::fs::read_dir(bench.path("")).unwrap().flatten() {
        let (path, name) = (package.path(), package.file_name());
        if name.to_string_lossy().starts_with("ipcmark") {
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                let found = path.join(licence).symlink_metadata();
                assert!(found.is_ok_and(|file| file.is_file()), "{name:?} lacks {licence}");
            }
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    for (of, file) in [
        ("ipcmark-machine", "bpf/ipcmark.bpf.o"),
        ("ipcmark-study", "studies/001.toml"),
        ("ipcmark", "engines/c-pipe/c-pipe.c"),
        ("ipcmark", "include/ipcmark_plugin.h"),
    ] {
        let path = bench.path(&format!("{of}-{version}/{file}"));
        assert!(path.symlink_metadata().is_ok_and(|file| file.is_file()), "{}", path.display());
    }
    let named = Command::new("grep")
        .args(["-rlF", TREE, "--exclude-dir=target"])
        .arg(bench.path(""))
        .output()
        .expect("grep");
    assert!(named.stdout.is_empty(), "{}", String::from_utf8_lossy(&named.stdout));
}

#[test]
#[ignore = "long form"]
fn what_is_released_is_installed_from_nothing_run_and_leaves_nothing() {
    let bench = Bench::new();
    let Some(dist) = made(&bench) else { return };
    an_image_is_one_of_the_program_alone(&bench, &dist);
    a_wheel_brings_the_program_and_a_module(&bench, &dist);
    recipes_name_the_archive(&bench, &dist);
    packages_run_from_an_empty_root(&bench, &dist);
}

/// What other package managers would be told: the archive that is there, and its sum. No such manager is asked.
fn recipes_name_the_archive(bench: &Bench, dist: &Path) {
    let archive = one(dist, ".tar.gz");
    let name = archive.file_name().unwrap().to_str().unwrap();
    let sum = must(Command::new("sha256sum").arg(&archive)).stdout;
    let sum = String::from_utf8_lossy(&sum)[..64].to_string();
    let manifest: toml::Table = toml::from_str(include_str!("../../Cargo.toml")).unwrap();
    let about = &manifest["workspace"]["package"];
    let (version, repository) = (about["version"].as_str(), about["repository"].as_str().unwrap());
    for recipe in ["ipcmark.rb", "PKGBUILD"] {
        let text = std::fs::read_to_string(dist.join(recipe)).unwrap();
        for word in [name, sum.as_str(), version.unwrap(), repository] {
            assert!(text.contains(word), "{recipe} lacks {word}");
        }
        let filled_in = |line: &&str| !line.starts_with('#');
        assert!(!text.lines().filter(filled_in).any(|line| line.contains('@')), "{recipe}: {text}");
    }
    let line = "tar -xzf \"$0\" && . \"$1\" && srcdir=$PWD pkgdir=$PWD/arch && package";
    let (folder, recipe) = (bench.path("PKGBUILD"), dist.join("PKGBUILD"));
    std::fs::create_dir(&folder).unwrap();
    must(Command::new("bash").args(["-euc", line]).arg(&archive).arg(recipe).current_dir(&folder));
    let stem = name.strip_suffix(".tar.gz").unwrap();
    for file in ["bin/ipcmark", "share/licenses/ipcmark-bin/LICENSE-MIT"] {
        assert!(folder.join("arch/usr").join(file).is_file(), "{file}");
    }
    // What cargo-binstall looks for in it.
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let filled = |text: &toml::Value| {
        [
            ("repo", repository),
            ("version", version.unwrap()),
            ("target-arch", std::env::consts::ARCH),
        ]
        .iter()
        .chain(&[("bin", "ipcmark"), ("binary-ext", "")])
        .fold(text.as_str().unwrap().to_string(), |text, (key, value)| {
            text.replace(&format!("{{ {key} }}"), value)
        })
    };
    assert!(filled(&binstall["pkg-url"]).ends_with(&format!("/{name}")));
    assert_eq!(filled(&binstall["bin-dir"]), format!("{stem}/bin/ipcmark"));
    assert!(folder.join(stem).join("bin/ipcmark").is_file());
}

fn packages_run_from_an_empty_root(bench: &Bench, dist: &Path) {
    must(Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(dist));

    let root = bench.path("tar");
    std::fs::create_dir_all(root.join("usr")).unwrap();
    let archive = one(dist, ".tar.gz");
    must(
        Command::new("tar")
            .args(["--strip-components", "1", "-xzf"])
            .arg(archive)
            .arg("-C")
            .arg(root.join("usr")),
    );
    for file in
        ["share/man/man1/ipcmark.1.gz", "include/ipcmark_plugin.h", "share/doc/ipcmark/LICENSE-MIT"]
    {
        assert!(root.join("usr").join(file).is_file(), "{file}");
    }
    runs_in(&root, "/usr/bin/ipcmark");
    a_deb_comes_and_goes(&bench.path("deb"), dist);
    an_rpm_comes_and_goes(&bench.path("rpm"), dist);
}

fn a_deb_comes_and_goes(root: &Path, dist: &Path) {
    if Command::new("dpkg").arg("--version").output().is_err() || !is_root() {
        return say("skipped the .deb: it needs dpkg, and root");
    }
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = || {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).arg("--force-not-root");
        command
    };
    must(dpkg().arg("-i").arg(one(dist, ".deb")));
    runs_in(root, "/usr/bin/ipcmark");
    must(dpkg().args(["--purge", "ipcmark"]));
    nothing_is_left_in(root);
}

fn an_rpm_comes_and_goes(root: &Path, dist: &Path) {
    let both = ["rpm", "rpmbuild"].map(|name| Command::new(name).arg("--version").output());
    if both.iter().any(Result::is_err) || !is_root() {
        return say("skipped the .rpm: it needs rpm, rpmbuild, and root");
    }
    std::fs::create_dir(root).unwrap();
    let rpm = || {
        let mut command = Command::new("rpm");
        command.arg("--root").arg(root).args(["--dbpath", "/var/lib/rpm"]);
        command
    };
    must(rpm().args(["-i", "--nodeps"]).arg(one(dist, ".rpm")));
    runs_in(root, "/usr/bin/ipcmark");
    must(rpm().args(["-e", "ipcmark"]));
    nothing_is_left_in(root);
}

fn nothing_is_left_in(root: &Path) {
    let left = must(Command::new("find").args([".", "-path", "*ipcmark*"]).current_dir(root));
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

fn a_wheel_brings_the_program_and_a_module(bench: &Bench, dist: &Path) {
    let venv = bench.path("venv");
    let there = Command::new("python3").args(["-m", "venv"]).arg(&venv).output();
    if !there.is_ok_and(|said| said.status.success()) {
        return say("skipped the wheel: python3 has no venv (apt install python3-venv)");
    }
    let bin = venv.join("bin");
    let pip =
        [&["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"][..]]
            .concat();
    must(Command::new(bin.join("python")).args(pip).arg(one(dist, ".whl")));
    must(Command::new(bin.join("ipcmark")).arg("--version"));
    let script = "import ipcmark\n\
                  run = ipcmark.run('pipe', 'unix-stream', workload='latency', size='64', placement='same-cpu', launches=7, samples=50)\n\
                  estimate, low, high = run.ratio('unix-stream', 'pipe')\n\
                  assert low <= estimate <= high, (low, estimate, high)\n\
                  back = run.ratio('pipe', 'unix-stream')\n\
                  assert abs(back[0] * estimate - 1) < 1e-9\n\
                  rows = [row for row in run.rows() if not row['twin']]\n\
                  assert {row['variant'] for row in rows} == {'pipe', 'unix-stream'}, rows\n\
                  taken = run.samples()\n\
                  assert all(len(ns) == 50 for launches in taken.values() for ns in launches.values())\n\
                  assert '<td>pipe</td>' in run._repr_html_()\n\
                  try: ipcmark.run('nothing')\n\
                  except ipcmark.Error as error: print(error)\n";
    let said =
        must(Command::new(bin.join("python")).args(["-c", script]).env("TMPDIR", bench.path("")));
    has(&String::from_utf8_lossy(&said.stdout), &["nothing"]);
}

fn an_image_is_one_of_the_program_alone(bench: &Bench, dist: &Path) {
    let layout = bench.path("oci");
    std::fs::create_dir_all(&layout).unwrap();
    must(Command::new("tar").arg("-xf").arg(one(dist, ".oci.tar")).arg("-C").arg(&layout));
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(layout.join(path)).unwrap()).unwrap()
    };
    let blob = |of: &serde_json::Value| {
        format!("blobs/sha256/{}", of["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap())
    };
    let manifest = read(&blob(&read("index.json")["manifests"][0]));
    let config = read(&blob(&manifest["config"]));
    assert_eq!(config["config"]["User"], "65534");
    let layer = layout.join(blob(&manifest["layers"][0]));
    let listed = must(Command::new("tar").arg("-tzf").arg(&layer));
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "bin/\nbin/ipcmark\n");
    let root = bench.path("image");
    std::fs::create_dir(&root).unwrap();
    must(Command::new("tar").arg("-xzf").arg(&layer).arg("-C").arg(&root));
    runs_in(&root, config["config"]["Entrypoint"][0].as_str().unwrap());
}
