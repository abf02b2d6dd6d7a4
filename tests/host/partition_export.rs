// SPDX-License-Identifier: GPL-2.0-only
//! `artis partition plan --export`: the tools themselves, or the parsers that they use, accept the
//! exported files. This machine's own plan is exported; nothing on the machine is changed.

use crate::common::skipped;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What `artis partition plan` prints with these options, for the last CPU. Skips the test on a
/// machine with one CPU.
fn plan(test: &str, options: &[&str]) -> Option<String> {
    let cpus = std::thread::available_parallelism().unwrap().get();
    if cpus < 2 {
        skipped(test, "this machine has one CPU, and none to partition");
        return None;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["partition", "plan", "--rt", &(cpus - 1).to_string()])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Runs a program. Skips the test where it is not installed.
fn run(test: &str, command: &mut Command) -> Option<Output> {
    match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let program = command.get_program().to_string_lossy();
            skipped(test, &format!("{program} is not installed"));
            None
        }
        output => Some(output.unwrap()),
    }
}

/// The files of an export, by the path that the comment before each names.
fn files(text: &str) -> BTreeMap<&str, String> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut path = None;
    for line in text.lines() {
        match line
            .strip_prefix("# ")
            .filter(|rest| rest.starts_with("/etc/"))
        {
            Some(named) => path = Some(named),
            None => *files.entry(path.unwrap()).or_default() += &format!("{line}\n"),
        }
    }
    files
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The new value of each file that the plan changes.
fn values(test: &str) -> Option<BTreeMap<String, String>> {
    let plan: Value = serde_json::from_str(&plan(test, &["--json"])?).unwrap();
    let changes = plan["changes"].as_array().unwrap().iter();
    let value = |change: &Value| {
        let path = change["path"].as_str()?.to_owned();
        Some((path, change["new"].as_str()?.to_owned()))
    };
    Some(changes.filter_map(value).collect())
}

/// What is exported for a tool, and the values of the same plan: what else goes on on this machine
/// may change the plan in between.
fn exported(test: &str, tool: &str) -> Option<(String, BTreeMap<String, String>)> {
    for _ in 0..50 {
        let before = values(test)?;
        let text = plan(test, &["--export", tool])?;
        if values(test)? == before {
            return Some((text, before));
        }
    }
    panic!("this machine's plan never stays the same");
}

#[test]
fn systemd_knows_its_units() {
    const TEST: &str = "systemd_knows_its_units";
    let Some(text) = plan(TEST, &["--shield", "--export", "systemd"]) else {
        return;
    };
    let files = files(&text);
    let complaints = |slice: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(
            &folder.path().join(format!("{slice}.d/artis-rt.conf")),
            text,
        );
        let mut verify = Command::new("systemd-analyze");
        // The folder comes before the system's folders, which the colon adds.
        verify.env("SYSTEMD_UNIT_PATH", format!("{}:", folder.path().display()));
        let output = run(TEST, verify.args(["verify", "--man=no", slice]))?;
        let said = String::from_utf8(output.stderr).unwrap();
        let ours = said.lines().filter(|line| line.contains("artis-rt.conf"));
        Some(ours.map(str::to_owned).collect::<Vec<_>>())
    };
    for slice in ["system.slice", "user.slice"] {
        let path = format!("/etc/systemd/system/{slice}.d/artis-rt.conf");
        let text = &files[path.as_str()];
        let Some(said) = complaints(slice, text) else {
            return;
        };
        assert_eq!(said, Vec::<String>::new(), "{text}");
        // A wrong name is noticed, so it does read the file.
        let said = complaints(slice, &text.replace("AllowedCPUs", "AllowedCPU"));
        assert_eq!(said.unwrap().len(), 1, "{text}");
    }
}

#[test]
fn systemd_writes_what_the_plan_says() {
    const TEST: &str = "systemd_writes_what_the_plan_says";
    let Some((text, values)) = exported(TEST, "systemd") else {
        return;
    };
    let files = files(&text);
    let root = tempfile::tempdir().unwrap();
    let inside = |path: &str| root.path().join(path.trim_start_matches('/'));
    let (settings, lines) = ("/etc/tmpfiles.d/artis-rt.conf", "w ");
    write(&inside(settings), &files[settings]);
    let written: Vec<&str> = files[settings]
        .lines()
        .filter_map(|line| line.strip_prefix(lines)?.split(' ').next())
        .collect();
    assert!(
        written.contains(&"/proc/irq/default_smp_affinity"),
        "{text}"
    );
    for path in &written {
        write(&inside(path), "");
    }
    let mut tmpfiles = Command::new("systemd-tmpfiles");
    let tmpfiles = tmpfiles.arg("--create").arg("--root").arg(root.path());
    let Some(output) = run(TEST, tmpfiles.arg("artis-rt.conf")) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    for path in written {
        let got = fs::read_to_string(inside(path)).unwrap();
        assert_eq!(got.trim(), values[path], "{path}");
    }
    // sysctl.d(5): a name is the path with dots.
    let settings = files["/etc/sysctl.d/90-artis-rt.conf"].lines();
    for (name, value) in settings.filter_map(|line| line.split_once(" = ")) {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        assert_eq!(value, values[&path], "{name}");
    }
}

/// Reads a document with Python, which tuned is written in, and gives it back as JSON.
fn read_by_python(test: &str, text: &str, program: &str) -> Option<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), text);
    let mut python = Command::new("python3");
    let output = run(test, python.arg("-c").arg(program).arg(file.path()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ModuleNotFoundError") {
        skipped(test, said.lines().last().unwrap());
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn tuned_reads_its_profile() {
    const TEST: &str = "tuned_reads_its_profile";
    // tuned's own loader opens a profile like this.
    const READ: &str = "\
import configparser, json, sys
profile = configparser.ConfigParser(delimiters='=', inline_comment_prefixes='#', strict=True)
profile.optionxform = str
profile.read_file(open(sys.argv[1]))
print(json.dumps({name: dict(profile.items(name, raw=True)) for name in profile.sections()}))";
    let Some((text, values)) = exported(TEST, "tuned") else {
        return;
    };
    let Some(profile) = read_by_python(TEST, &text, READ) else {
        return;
    };
    let profile = profile.as_object().unwrap();
    for section in profile.keys() {
        // The plug-ins of tuned, and what every profile has.
        let known = [
            "main",
            "sysctl",
            "sysfs",
            "scheduler",
            "bootloader",
            "cpu",
            "irqbalance",
        ];
        assert!(known.contains(&section.as_str()), "{section}");
    }
    for (path, value) in profile["sysfs"].as_object().unwrap() {
        assert_eq!(value, &values[path], "{path}");
    }
    for (name, value) in profile["sysctl"].as_object().unwrap() {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        assert_eq!(value, &values[&path], "{name}");
    }
}

#[test]
fn the_kubelet_knows_its_fields() {
    const TEST: &str = "the_kubelet_knows_its_fields";
    const READ: &str = "\
import json, sys, yaml
print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let Some(text) = plan(TEST, &["--export", "kubernetes"]) else {
        return;
    };
    let Some(document) = read_by_python(TEST, &text, READ) else {
        return;
    };
    // The types of `KubeletConfiguration` in kubelet.config.k8s.io/v1beta1: all are strings, the
    // options of the CPU manager a map of strings to strings.
    assert_eq!(document["apiVersion"], "kubelet.config.k8s.io/v1beta1");
    assert_eq!(document["kind"], "KubeletConfiguration");
    for (name, value) in document.as_object().unwrap() {
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "cpuManagerPolicy" => assert_eq!(value, "static"),
            "topologyManagerPolicy" => assert_eq!(value, "single-numa-node"),
            "reservedSystemCPUs" => assert!(value.is_string(), "{value}"),
            "cpuManagerPolicyOptions" => {
                let options = value.as_object().unwrap();
                assert!(options.values().all(Value::is_string), "{value}");
            }
            other => panic!("{other} is no field that artis means to set"),
        }
    }
}
