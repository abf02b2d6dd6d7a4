// SPDX-License-Identifier: GPL-2.0-only
//! What an ordinary user can do to an artis of root's: nothing. The user is nobody, in folders of
//! everybody's as /tmp is. Also: how far the units are confined.

use crate::common::skipped;
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use tempfile::TempDir;

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/explain/late.json");
const NOBODY: u32 = 65534;
/// The most that `systemd-analyze security` may say of a unit.
const EXPOSURE_MAX: f64 = 3.0;

/// A folder that everybody may write to, as /tmp.
fn public() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    folder
}

fn give_to_nobody(path: &Path) {
    let owner = Some(Uid::from_raw(NOBODY));
    nix::unistd::fchownat(
        nix::fcntl::AT_FDCWD,
        path,
        owner,
        None,
        nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
    )
    .unwrap();
}

/// What nobody gets.
fn as_nobody(program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).uid(NOBODY).gid(NOBODY).current_dir("/");
    command.output().unwrap()
}

/// Writes a recording again, to this file or folder.
fn writes(option: &str, path: &Path) -> Output {
    let mut command = Command::new(ARTIS);
    command
        .args(["explain", "show", RECORDING, option])
        .arg(path);
    command.output().unwrap()
}

#[track_caller]
fn refused(path: &Path) {
    for option in ["--json", "--perfetto"] {
        let output = writes(option, path);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("another user has put a link or a pipe"),
            "{said}"
        );
    }
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    as_root!("a_link_of_another_user_is_not_followed");
    let (folder, roots) = (public(), tempfile::tempdir().unwrap());
    let victim = roots.path().join("victim");
    fs::write(&victim, "root's").unwrap();
    let link = folder.path().join("out.json");
    symlink(&victim, &link).unwrap();
    give_to_nobody(&link);
    refused(&link);
    // A chain, of which one link is root's; one that leads nowhere yet; one to a device.
    let first = folder.path().join("first");
    symlink(&link, &first).unwrap();
    refused(&first);
    for target in [roots.path().join("new"), PathBuf::from("/dev/null")] {
        fs::remove_file(&link).unwrap();
        symlink(&target, &link).unwrap();
        give_to_nobody(&link);
        refused(&link);
    }
    assert!(!roots.path().join("new").exists());
    // In a folder of that user's own, where the kernel would follow it.
    let own = tempfile::tempdir().unwrap();
    let link = own.path().join("out.json");
    symlink(&victim, &link).unwrap();
    give_to_nobody(own.path());
    give_to_nobody(&link);
    refused(&link);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "root's");
    // Root's own link is followed.
    let link = folder.path().join("own.json");
    symlink(roots.path().join("written"), &link).unwrap();
    assert!(writes("--json", &link).status.success());
    assert!(roots.path().join("written").exists());
}

#[test]
fn nobody_reads_along_in_a_pipe_and_no_file_of_others_is_overwritten() {
    as_root!("nobody_reads_along_in_a_pipe_and_no_file_of_others_is_overwritten");
    let (folder, roots) = (public(), tempfile::tempdir().unwrap());
    let pipe = folder.path().join("pipe");
    mkfifo(&pipe, Mode::from_bits_truncate(0o666)).unwrap();
    give_to_nobody(&pipe);
    refused(&pipe);
    // A second name of root's file: the name is replaced, and the file stays.
    let victim = roots.path().join("victim");
    fs::write(&victim, "root's").unwrap();
    let name = folder.path().join("out.json");
    if fs::hard_link(&victim, &name).is_err() {
        return skipped(
            "nobody_reads_along_in_a_pipe",
            "no second names across these folders",
        );
    }
    assert!(writes("--json", &name).status.success());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "root's");
    // A file of theirs: it is root's then, and they cannot change it.
    let theirs = folder.path().join("theirs.json");
    fs::write(&theirs, "theirs").unwrap();
    give_to_nobody(&theirs);
    assert!(writes("--json", &theirs).status.success());
    assert_eq!(theirs.metadata().unwrap().uid(), 0);
    let path = theirs.to_str().unwrap();
    for (program, words) in [
        ("sh", &["-c", "echo theirs >\"$0\"", path][..]),
        ("rm", &["-f", path]),
        ("mv", &[path, "/tmp/artis-of-nobody"]),
    ] {
        assert!(!as_nobody(program, words).status.success(), "{program}");
    }
}

#[test]
fn a_recording_is_for_who_made_it() {
    as_root!("a_recording_is_for_who_made_it");
    let folder = public();
    let (json, trace) = (folder.path().join("a.json"), folder.path().join("a.trace"));
    let pictures = folder.path().join("pictures");
    assert!(writes("--json", &json).status.success());
    assert!(writes("--perfetto", &trace).status.success());
    assert!(writes("--svg", &pictures).status.success());
    for path in [json, trace, pictures.join("01.svg")] {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600, "{path:?}");
        let output = as_nobody("cat", &[path.to_str().unwrap()]);
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{path:?}"
        );
    }
}

/// The folders of artis, made by an artis whose umask keeps nothing back, on a /run and a /var/lib
/// of its own.
#[test]
fn the_folders_of_artis_are_roots() {
    const TEST: &str = "the_folders_of_artis_are_roots";
    as_root!("the_folders_of_artis_are_roots");
    let script = "mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit 77
        umask 0
        \"$0\" sched stop --quiet || exit
        \"$0\" partition reset --quiet || exit
        [ -e /run/artis/lock ] && [ -e /run/artis/machine.lock ] || { ls -la /run/artis; exit 1; }
        find /run/artis /var/lib/artis ! -type l -perm /022 2>/dev/null | grep . && exit 1
        try() { setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\" 2>/dev/null; }
        # Who may open a lock may hold it, and keep root from its turn.
        for lock in /run/artis/*lock; do
            try flock -n \"$lock\" true && { echo \"$lock can be taken\"; exit 1; }
        done
        try touch /run/artis/x && { echo 'the folder can be filled'; exit 1; }
        try ln -s /etc/passwd /run/artis/admitted.new && { echo 'a link can be laid'; exit 1; }
        exit 0";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, ARTIS])
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        return skipped(TEST, "nothing may be mounted here");
    }
    assert!(output.status.success(), "{output:?}");
}

struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_task_of_another_user_is_not_changed() {
    as_root!("a_task_of_another_user_is_not_changed");
    // A copy where everybody may start it.
    let folder = public();
    let artis = folder.path().join("artis");
    // By a process of its own: one that a thread forks here would keep the copy open for writing.
    let copied = Command::new("cp").arg(ARTIS).arg(&artis).status().unwrap();
    assert!(copied.success());
    let sleeper = Sleeper(Command::new("sleep").arg("600").spawn().unwrap());
    let pid = sleeper.0.id().to_string();
    let state = || {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<String> = status.split(' ').map(str::to_owned).collect();
        let cpus = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let cpus = cpus.lines().find(|line| line.starts_with("Cpus_allowed:"));
        (
            fields[17..19].to_vec(),
            fields[40].clone(),
            cpus.map(str::to_owned),
        )
    };
    let before = state();
    let artis = artis.to_str().unwrap();
    for words in [
        &["run", "rt0", "--cpu", "0", "--pid", &pid][..],
        &["run", "rt1", "--level", "1", "--pid", &pid],
        &["run", "linux", "--pid", &pid],
    ] {
        let output = as_nobody(artis, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        // Without sched_ext nobody can make a task RT1+, and that is said.
        let refused = ["CAP_SYS_NICE", "has no sched_ext"];
        assert!(
            refused.iter().any(|why| said.contains(why)),
            "{words:?}: {said}"
        );
    }
    assert_eq!(state(), before);
    for (words, missing) in [
        (
            &["explain", "run", "-D", "1", "--pid", &pid][..],
            "CAP_BPF and CAP_PERFMON",
        ),
        (&["partition", "reset"], "root"),
    ] {
        let output = as_nobody(artis, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(missing),
            "{words:?}: {said}"
        );
    }
}

/// The unit as it is installed.
fn unit(name: &str, folder: &Path) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging")
        .join(name);
    let text = fs::read_to_string(path).unwrap();
    let text = text
        .replace("@bindir@", "/usr/bin")
        .replace("@sysconfdir@", "/etc");
    let unit = folder.join(name);
    fs::write(&unit, text).unwrap();
    unit
}

#[test]
fn the_units_are_confined() {
    const TEST: &str = "the_units_are_confined";
    let folder = tempfile::tempdir().unwrap();
    for name in ["artis-sched.service", "artis-metrics.service"] {
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager"])
            .arg(unit(name, folder.path()))
            .output();
        let Ok(output) = output else {
            return skipped(
                TEST,
                "systemd-analyze is not there (Debian's package systemd)",
            );
        };
        let said = String::from_utf8_lossy(&output.stdout);
        if said.is_empty() {
            return skipped(
                TEST,
                "this systemd-analyze looks at no files (before version 250)",
            );
        }
        // "→ Overall exposure level for artis-sched.service: 2.1 OK"
        let level = said
            .lines()
            .find(|line| line.contains("Overall exposure level"));
        let level = level.and_then(|line| line.split(": ").nth(1)?.split(' ').next()?.parse().ok());
        let level: f64 = level.unwrap_or_else(|| panic!("{said}"));
        assert!(level <= EXPOSURE_MAX, "{name}: {level}\n{said}");
    }
}
