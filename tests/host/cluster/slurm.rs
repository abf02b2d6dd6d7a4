// SPDX-License-Identifier: GPL-2.0-only
//! The Slurm array, in Debian's Slurm on a cluster of one node: this machine.

use super::{SEEDS, assert_whole, packaged, shared};
use crate::common::skipped;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PARTS: usize = 3;

/// A daemon, ended when dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(self.0.id().cast_signed()),
            nix::sys::signal::Signal::SIGTERM,
        );
        let _ = self.0.wait();
    }
}

fn daemon(program: &str, words: &[&str], folder: &Path) -> Daemon {
    let log = std::fs::File::create(folder.join(format!("{program}.out"))).unwrap();
    let mut command = Command::new(program);
    command
        .args(words)
        .env("SLURM_CONF", folder.join("slurm.conf"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    Daemon(command.spawn().unwrap())
}

/// A port that was free a moment ago.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Slurm's programs, one node, its files in `folder`. None: it did not come up.
fn cluster(folder: &Path, host: &str) -> Option<Vec<Daemon>> {
    let at = |name: &str| folder.join(name).display().to_string();
    let cpus = std::thread::available_parallelism().unwrap();
    let (control, node) = (port(), port());
    let text = format!(
        "ClusterName=artis\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={munge}\nStateSaveLocation={state}\n\
         SlurmdSpoolDir={spool}\nSlurmctldPidFile={state}/c.pid\nSlurmdPidFile={state}/d.pid\n\
         SlurmctldPort={control}\nSlurmdPort={node}\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nReturnToService=2\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        munge = at("munge.socket"),
        state = at("state"),
        spool = at("spool"),
    );
    std::fs::write(folder.join("slurm.conf"), text).unwrap();
    for name in ["state", "spool"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    let key: Vec<u8> = (0..=255_u8).cycle().take(1024).collect();
    std::fs::write(folder.join("munge.key"), key).unwrap();
    let secret = std::fs::Permissions::from_mode(0o400);
    std::fs::set_permissions(folder.join("munge.key"), secret).unwrap();
    let words = [
        "key-file=munge.key",
        "socket=munge.socket",
        "pid-file=munge.pid",
    ]
    .into_iter()
    .chain(["log-file=munge.log", "seed-file=munge.seed"])
    .map(|word| {
        let (option, name) = word.split_once('=').unwrap();
        format!("--{option}={}", at(name))
    });
    let words: Vec<String> = ["--foreground", "--force"]
        .map(str::to_owned)
        .into_iter()
        .chain(words)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut all = vec![daemon("munged", &words, folder)];
    wait_for(|| folder.join("munge.socket").exists())?;
    all.push(daemon("slurmctld", &["-D"], folder));
    wait_for(|| slurm(folder, "scontrol", &["ping"]).status.success())?;
    all.push(daemon("slurmd", &["-D"], folder));
    wait_for(|| {
        slurm(folder, "sinfo", &["-h", "-o", "%T"])
            .stdout
            .starts_with(b"idle")
    })?;
    // The node's daemon ends before what it speaks to.
    all.reverse();
    Some(all)
}

fn wait_for(mut is_so: impl FnMut() -> bool) -> Option<()> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > Duration::from_secs(30) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(())
}

fn slurm(folder: &Path, program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command
        .args(words)
        .env("SLURM_CONF", folder.join("slurm.conf"));
    command.env("ARTIS", env!("CARGO_BIN_EXE_artis"));
    command.output().unwrap()
}

#[test]
fn an_array_of_slurm_makes_the_whole_and_its_status_is_that_of_artis() {
    const TEST: &str = "an_array_of_slurm_makes_the_whole";
    for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
        if which::which(program).is_err() {
            let reason = format!("{program} is not there (Debian's slurm-wlm and munge)");
            return skipped(TEST, &reason);
        }
    }
    if !nix::unistd::geteuid().is_root() {
        return skipped(TEST, "slurmd needs root");
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let readable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), readable).unwrap();
    let Some(_cluster) = cluster(folder.path(), host) else {
        return skipped(TEST, "no cluster of one node came up here");
    };
    let work = shared();
    let script = packaged("slurm/sweep.sh").display().to_string();
    let at = |name: &str| work.path().join(name).display().to_string();
    let submit = |words: &[&str]| {
        let array = format!("--array=1-{PARTS}");
        let log = format!("--output={}", at("log-%a"));
        let place = at("");
        let words = [
            &["--wait", &array, &log, &script, &place, "simulate"],
            words,
        ]
        .concat();
        slurm(folder.path(), "sbatch", &words)
    };
    let (scenario, kept) = (at("mixed.toml"), at("kept"));
    let sweep = [&scenario, "--seeds", SEEDS, "--keep", &kept];
    let output = submit(&sweep);
    let said = || std::fs::read_to_string(work.path().join("log-1")).unwrap_or_default();
    assert!(output.status.success(), "{output:?} {}", said());
    assert_whole(work.path(), PARTS);
    // Nothing is simulated again, and the parts are the same.
    let before = std::fs::read(work.path().join("part-2")).unwrap();
    assert!(submit(&sweep).status.success());
    assert_eq!(before, std::fs::read(work.path().join("part-2")).unwrap());
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 7);

    let output = submit(&[&scenario, "--rt", "9"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(said().contains("RT CPU 9 is no CPU"), "{}", said());
}
