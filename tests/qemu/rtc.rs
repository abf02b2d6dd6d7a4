// SPDX-License-Identifier: GPL-2.0-only
//! What only a machine of the lab has: a real-time clock with periodic interrupts. Its times mean
//! nothing, so they are neither judged nor shown.

use super::sched::TWO_CPUS;
use super::shared::Script;

on_kernel!(normal, "newest": the_real_time_clock_is_a_source);

pub static RTC: Script = Script {
    name: "rtc::the_real_time_clock_is_a_source",
    rt: false,
    counts: &[],
    text: "artis measure latency --source rtc -i 3906 -l 100 --json $ARTIS_OUTPUT/rtc.json",
};

fn the_real_time_clock_is_a_source(kernel: &str) {
    let document = TWO_CPUS.ran(kernel, &RTC).json("rtc");
    assert_eq!(document["setup"]["options"]["source"], "rtc");
    let all = document["series"].as_array().unwrap();
    let latency = all.iter().find(|series| series["name"] == "latency");
    assert_eq!(latency.unwrap()["count"], 100);
    // Nobody who reads the file may take an emulator's times for real ones.
    let audit = document["audit"].as_array().unwrap();
    assert!(audit.iter().any(|found| found["id"] == "emulated_time"));
}
