// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide --measure`: makes a machine what it can be, measures that, and takes it back.

use super::sched::TWO_CPUS;
use super::shared::Script;

on_kernel!(normal, "newest": the_machine_is_measured_as_what_it_can_be_and_is_as_before);

pub static MEASURE: Script = Script {
    name: "decide::the_machine_is_measured_as_what_it_can_be_and_is_as_before",
    rt: false,
    counts: &[],
    text: r#"
        printf '[activation]\ndeadline = "1s"\nwork_command = ["true"]\n' >/tmp/job.toml
        printf '[rest]\nload = "compute"\n' >>/tmp/job.toml
        before=$(settings)
        artis decide /tmp/job.toml --measure -D 1 --rt 1 --json >"$ARTIS_OUTPUT/verdict.json" ||
            die 'no verdict'
        [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        expect 3 artis sched status >/dev/null

        # Stopped while the machine is not as it was.
        artis decide /tmp/job.toml --measure -D 2 --rt 1 >/dev/null 2>/tmp/said &
        decide=$!
        changed() { [ "$(settings)" != "$before" ]; }
        until_ok changed
        kill -INT $decide
        wait $decide && die 'a stopped measurement ended with 0'
        grep -q 'stopped by a signal' /tmp/said || die "$(cat /tmp/said)"
        [ "$(settings)" = "$before" ] || die "settings after a signal: $(settings), not $before"
    "#,
};

fn the_machine_is_measured_as_what_it_can_be_and_is_as_before(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &MEASURE);
    let verdict = ran.json("verdict");
    let judged = verdict["candidates"].as_array().unwrap();
    let name = |one: &serde_json::Value| one["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = judged.iter().map(name).collect();
    for name in ["stock", "tuned", "artis"] {
        assert!(
            names.contains(&name.to_owned()),
            "{name} in {names:?}: {}",
            ran.stderr
        );
    }
    let mut judged = judged.iter();
    assert!(judged.all(|one| one["latency_us_max"].is_number()));
}
