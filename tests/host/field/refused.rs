// SPDX-License-Identifier: GPL-2.0-only
//! Folders and rights with which nothing can be measured: a sentence with what to type next, and
//! nothing is changed.

use super::{ARTIS, alone, in_force, measure, output};
use serde_json::json;
use std::path::Path;
use std::process::Command;

fn measurement(cpus: &str, seconds: f64) -> String {
    json!({
        "schema": "artis.measurement/1", "id": "1", "machine": null, "cpu_model": null,
        "cpus": cpus,
        "setting": {"rt": 0, "seconds": seconds, "load": "compute", "rest_command": null},
    })
    .to_string()
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let online = online.trim();
    let rows = [
        (
            "another machine",
            "measurement.json",
            measurement("0-4000", 1.0),
            "--keep OTHER",
        ),
        (
            "measured otherwise",
            "measurement.json",
            measurement(online, 600.0),
            "-D 600s",
        ),
        (
            "half a file",
            "measurement.json",
            "{\"schema\": \"art".to_owned(),
            "move it away",
        ),
        (
            "runs of somebody",
            "stock-1.json",
            "{}".to_owned(),
            "no measurement.json",
        ),
    ];
    for (name, file, text, part) in rows {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(file), text).unwrap();
        let mut words = measure(folder.path().to_str().unwrap());
        words.extend(["--rt=0", "--plan"]);
        let output = output(&words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert!(errors.contains(part), "{name}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{name}: {errors}");
        assert!(output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn a_run_that_is_damaged_is_said_and_left_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let setting = measurement(online.trim(), 1.0);
    std::fs::write(folder.path().join("measurement.json"), setting).unwrap();
    std::fs::write(folder.path().join("stock-1.json"), "{\"schema\"").unwrap();
    let mut words = measure(folder.path().to_str().unwrap());
    words.extend(["--rt=0", "--plan"]);
    let output = output(&words);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("damaged") && text.contains("stock-1.json"),
        "{text}"
    );
    assert!(folder.path().join("stock-1.json").exists());
}

/// A limit on the size of files stands for a disk that is full.
#[test]
fn a_full_disk_is_said_before_anything_is_measured() {
    as_root!("a_full_disk_is_said_before_anything_is_measured");
    let _alone = alone();
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path().join("runs");
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\"", ARTIS]);
    let output = shell
        .args(measure(folder.to_str().unwrap()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let last = errors.lines().last().unwrap();
    assert!(
        last.contains("free some space, and type the same command"),
        "{errors}"
    );
    assert_eq!(
        (in_force(), folder.join("stock-1.json").exists()),
        (0, false)
    );
}

#[test]
fn without_rights_there_is_a_plan_and_no_measurement() {
    as_root!("without_rights_there_is_a_plan_and_no_measurement");
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path().join("runs");
    let words = measure(folder.to_str().unwrap());
    // The program's own folder may be one that others cannot enter.
    let program = Path::new("/tmp").join(format!("artis-field-{}", std::process::id()));
    std::fs::copy(ARTIS, &program).unwrap();
    let run = |also: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program);
        command.args(&words).args(also).output()
    };
    let (refused, plan) = (run(&[]), run(&["--plan"]));
    std::fs::remove_file(&program).unwrap();
    let (Ok(refused), Ok(plan)) = (refused, plan) else {
        return crate::common::skipped("without_rights", "there is no setpriv");
    };
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("or see what it would do with --plan"),
        "{errors}"
    );
    let text = String::from_utf8_lossy(&plan.stdout);
    assert!(
        text.contains("Configurations") && text.contains("stock"),
        "{text}"
    );
    assert!(!folder.exists());
}
