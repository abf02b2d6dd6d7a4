// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab run`: what goes in, what comes out, and how it ends.

use super::guest::{self, artis, stderr};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Runs a shell script in the guest.
fn run(options: &[&str], script: &str) -> Output {
    guest::run(
        artis(&["lab", "run"])
            .args(options)
            .args(["--", "sh", "-c", script]),
    )
}

/// One guest for what goes in and out: streams, files there and back, what was not asked for, and
/// what the command leaves behind when it is killed.
#[test]
fn streams_status_and_files_come_back_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::write(&data, "some data").unwrap();
    let back = folder.path().join("back");
    let output = run(
        &[
            "--output",
            back.to_str().unwrap(),
            // A program that needs libraries and is no part of the guest otherwise.
            "--file",
            "/usr/bin/dpkg-deb:/opt/other/tool",
            "--file",
            data.to_str().unwrap(),
        ],
        r"printf '\000\377\r\n[artis end ' ; printf 'to stderr\r\n' >&2
          seq 200000; mkdir sub; head -c 3000000 /dev/urandom >sub/random
          sha256sum sub/random | cut -c1-64 >sum; cat /files/data
          /opt/other/tool --version >tool || exit
          ls /sys/block/vda /sys/class/net/eth0 >devices 2>/dev/null; ls /sys/class/net >>devices
          # The orphan of the subshell ends at once and must not stay a zombie.
          (sh -c 'sleep 0.1' &); sleep 1
          zombies() { grep -l '^State:.Z' /proc/[0-9]*/status; }
          tries=0; while zombies >zombies && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 1; done
          sleep 1000 & printf 'no line end'; kill -SEGV $$",
    );
    assert_eq!(output.status.code(), Some(128 + 11), "{}", stderr(&output));
    let numbers: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let expected = [
        b"\0\xff\r\n[artis end ",
        numbers.as_bytes(),
        b"some datano line end",
    ]
    .concat();
    assert!(output.stdout == expected, "stdout differs");
    let said = stderr(&output);
    assert!(said.contains("to stderr\r\n"), "{said}");
    assert_eq!(said.matches("timing not meaningful").count(), 1, "{said}");

    let sum = Command::new("sha256sum")
        .arg(back.join("sub/random"))
        .output()
        .unwrap();
    let file = |name: &str| fs::read_to_string(back.join(name)).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&sum.stdout)[..64],
        *file("sum").trim()
    );
    assert!(file("tool").contains("dpkg"), "{}", file("tool"));
    assert_eq!(file("devices"), "lo\n");
    assert_eq!(file("zombies"), "");

    let record: serde_json::Value = serde_json::from_str(&file("run.json")).unwrap();
    assert_eq!(record["engine"], "qemu");
    assert_eq!(record["timing_meaningful"], false);
    assert_eq!(record["exit_status"], 128 + 11);
    assert_eq!(record["cpus"], 2);
    assert_eq!(record["command"][0], "sh");
    assert_eq!(record["flavour"], "normal");
    assert!(back.join("console.log").exists());
}

#[test]
fn the_guest_is_a_complete_small_system() {
    let output = run(
        &["--kernel", "newest-rt", "--cpus", "3"],
        r#"set -e
          uname -v | grep -q PREEMPT_RT
          [ "$(uname -r)" = "$ARTIS_LAB_KERNEL" ] && [ "$ARTIS_LAB" = qemu ]
          [ "$(nproc)" = 3 ] && [ "$(hostname)" = artis-lab ] && [ "$(pwd)" = "$ARTIS_OUTPUT" ]
          for kind in proc sysfs devtmpfs debugfs tracefs bpf cgroup2; do
              grep -q " $kind " /proc/mounts
          done
          [ "$(ulimit -l)" = unlimited ]
          ping -c 1 -w 5 127.0.0.1 >/dev/null
          echo again >/dev/stdout
          artis --version; cyclictest --help >/dev/null; stress-ng --version >/dev/null
          hackbench -l 2 >/dev/null
          taskset -c 2 chrt -f 50 true
          exit 7"#,
    );
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let version = env!("CARGO_PKG_VERSION");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, format!("again\nartis {version}\n"));
}

#[test]
fn a_guest_whose_instructions_are_counted_sleeps_for_less() {
    // Twenty minutes, for which the command has ten of the host's time.
    let output = run(
        &["--engine", "qemu-icount", "--timeout", "600"],
        r#"set -e
          before=$(cut -d. -f1 /proc/uptime)
          sleep 1200
          after=$(cut -d. -f1 /proc/uptime)
          [ $((after - before)) -ge 1200 ] && [ $((after - before)) -le 1300 ]
          [ "$(nproc)" = 2 ] && [ "$ARTIS_LAB" = qemu-icount ]
          artis measure latency -D 1 -q | grep -c 'mean nothing'"#,
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_time_out_ends_the_command_and_brings_back_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        &[
            "--timeout",
            "10",
            "--output",
            folder.path().to_str().unwrap(),
        ],
        "echo before; echo kept >file; sleep 1000",
    );
    assert_eq!(output.status.code(), Some(124), "{}", stderr(&output));
    assert_eq!(output.stdout, b"before\n");
    assert!(stderr(&output).contains("longer than 10 s"));
    let file = fs::read_to_string(folder.path().join("file")).unwrap();
    assert_eq!(file, "kept\n");
}

#[test]
fn a_disk_and_a_network_card_are_there_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    // A service of the host that a guest would reach through a gateway that lets it.
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    service.set_nonblocking(true).unwrap();
    let port = service.local_addr().unwrap().port();
    let output = run(
        &[
            "--disk",
            "3M",
            "--network",
            "user",
            "--output",
            folder.path().to_str().unwrap(),
        ],
        &format!(
            r#"set -e
          cat /sys/block/vda/size
          # Nothing on it, nobody else's; what is written stands there.
          cmp -n 3145728 /dev/vda /dev/zero
          echo kept | dd of=/dev/vda bs=512 seek=6143 conv=sync oflag=direct 2>/dev/null
          dd if=/dev/vda bs=512 skip=6143 iflag=direct 2>/dev/null | head -c 5
          ping -c 1 -w 9 10.0.2.2 >/dev/null
          nc -w 2 10.0.2.2 {port} </dev/null 2>/dev/null || true"#
        ),
    );
    assert!(service.accept().is_err(), "the guest reaches the host");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6144\nkept\n");
    let record = fs::read(folder.path().join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(
        (&record["disk_bytes"], &record["network"]),
        (&(3 << 20).into(), &"user".into())
    );
}

#[test]
fn a_panic_is_an_error_that_shows_the_console() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        &["--output", folder.path().to_str().unwrap()],
        "echo c >/proc/sysrq-trigger; sleep 1000",
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("Kernel panic - not syncing"));
    let console = fs::read_to_string(folder.path().join("console.log")).unwrap();
    assert!(console.contains("Kernel panic - not syncing"));
    assert!(!folder.path().join("run.json").exists());
}

/// Starts a guest that runs for ever, and gives artis and the process id of its QEMU.
fn start_endless(folder: &Path) -> (Child, Pid) {
    let mut child = artis(&["lab", "run", "--", "sh", "-c", "echo up; sleep 1000"])
        // A killed artis cannot tidy up.
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "up\n");
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let children = fs::read_to_string(children).unwrap();
    let qemu = Pid::from_raw(children.trim().parse().unwrap());
    let words = fs::read_to_string(format!("/proc/{qemu}/cmdline")).unwrap();
    assert!(words.contains("/qemu-system"), "{words}");
    (child, qemu)
}

/// Waits until a process is gone, or only an entry that nobody reaped yet.
fn wait_until_gone(process: Pid) {
    // The time is a limit for a hung machine, no bound on speed.
    for _ in 0..600 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("process {process} still runs");
}

/// SIGTERM is handled as SIGINT is; `tests/bochs` sends it.
#[test]
fn interrupting_artis_ends_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (mut artis, qemu) = start_endless(folder.path());
    kill(Pid::from_raw(artis.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(artis.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&format!("/proc/{qemu}")).exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn killing_artis_ends_the_machine_and_the_next_command_tidies_up() {
    let folder = tempfile::tempdir().unwrap();
    let (mut killed, qemu) = start_endless(folder.path());
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until_gone(qemu);
    let left = || fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left(), 1, "its temporary folder");
    // Also one that does nothing else.
    let next = artis(&["lab", "fetch", "no-such-kernel"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert_eq!(left(), 0, "{}", stderr(&next));
}

#[test]
fn unknown_kernels_and_bad_words_are_refused_as_usage() {
    let refused = |words: &[&str]| {
        let output = artis(words).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
        stderr(&output)
    };
    let said = refused(&["lab", "run", "--kernel", "9.9.9-nothing", "--", "true"]);
    assert!(said.contains("newest, newest-rt, "), "{said}");
    refused(&["lab", "fetch", "../../etc"]);
    refused(&["lab", "run", "--cpus", "0", "--", "true"]);
    refused(&["lab", "run", "--file", "x:/../y", "--", "true"]);
    refused(&["lab", "run"]);
    for words in [["--disk", "0"], ["--disk", "100"], ["--network", "bridge"]] {
        refused(&[&["lab", "run"], &words[..], &["--", "true"]].concat());
    }
    for (words, what) in [
        (["--disk", "64M"], "no disk; leave out --disk"),
        (
            ["--network", "user"],
            "no network card; leave out --network",
        ),
    ] {
        let said = refused(
            &[
                &["lab", "run", "--engine", "bochs"],
                &words[..],
                &["--", "true"],
            ]
            .concat(),
        );
        assert!(said.contains("bochs") && said.contains(what), "{said}");
    }
}

#[test]
fn a_mirror_that_cannot_be_used_is_an_error_and_costs_nothing() {
    let fetched = artis(&["lab", "fetch", "newest"]).output().unwrap();
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    // Nothing listens on the discard port.
    for mirror in ["http://127.0.0.1:9/debian", "zzz"] {
        for words in [&["lab", "kernels"][..], &["lab", "fetch", "newest"]] {
            let output = artis(words).args(["--mirror", mirror]).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
            assert!(stderr(&output).contains(mirror), "{}", stderr(&output));
            assert_eq!(output.stdout, b"");
        }
    }
    let again = artis(&["lab", "fetch", "newest"]).output().unwrap();
    assert_eq!(again.stdout, fetched.stdout, "{}", stderr(&again));
}

/// Only a mirror that the user names must be reached; without one the cache will do.
#[test]
fn without_a_network_a_cached_kernel_still_runs() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("artis/kernels/7.3-amd64_7.3-1");
    fs::create_dir_all(&kernel).unwrap();
    fs::write(kernel.join("vmlinuz"), "image").unwrap();
    let facts = serde_json::json!({
        "release": "7.3-amd64", "flavour": "normal", "package": "linux-binary-7.3-amd64",
        "version": "7.3-1", "suite": "sid", "mirror": "http://mirror.example/debian",
        "sched_ext": true, "preemption": "lazy", "packages": [],
    });
    fs::write(kernel.join("kernel.json"), facts.to_string()).unwrap();
    // An apt that knows no mirror.
    let apt = folder.path().join("apt.conf");
    fs::write(
        &apt,
        "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"-\";\n",
    )
    .unwrap();
    let output = artis(&["lab", "fetch", "newest"])
        .env("XDG_CACHE_HOME", folder.path())
        .env("APT_CONFIG", &apt)
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(output.stdout, b"7.3-amd64 7.3-1\n");
    assert!(said.contains("using the cached kernel"), "{said}");
}

#[test]
fn the_list_knows_what_is_cached() {
    let fetched = artis(&["lab", "fetch", "newest-rt"]).output().unwrap();
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    let output = artis(&["lab", "kernels", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let newest = |flavour: &str| {
        let found =
            |kernel: &&serde_json::Value| kernel["newest"] == true && kernel["flavour"] == flavour;
        listed.iter().find(found).unwrap()
    };
    assert_eq!(newest("rt")["cached"], true);
    assert_eq!(newest("rt")["sched_ext"], true);
    assert!(newest("normal")["release"].is_string());
}
