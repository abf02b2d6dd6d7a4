// SPDX-License-Identifier: GPL-2.0-only
//! What only a machine of the lab has: a real-time clock with periodic interrupts. Its times mean
//! nothing, so they are neither judged nor shown.

use super::common::guest;
use std::process::Command;

#[test]
fn the_real_time_clock_is_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let output = guest::run(
        Command::new(env!("CARGO_BIN_EXE_artis"))
            .args(["lab", "run", "--output"])
            .arg(folder.path())
            .args(["--", "sh", "-c"])
            .arg("artis measure latency --source rtc -i 3906 -l 100 --json $ARTIS_OUTPUT/rtc.json"),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = std::fs::read(folder.path().join("rtc.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(document["setup"]["options"]["source"], "rtc");
    assert_eq!(super::series(&document, "latency")[0]["count"], 100);
    // Nobody who reads the file may take an emulator's times for real ones.
    let audit = document["audit"].as_array().unwrap();
    assert!(audit.iter().any(|found| found["id"] == "emulated_time"));
}
