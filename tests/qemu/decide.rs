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
        # Times of an emulator are measured like others, and refused when they are to decide.
        expect 1 artis decide /tmp/job.toml --measure -D 1 --rt 1 --keep "$ARTIS_OUTPUT"
        grep -q 'stock: its times are an emulator' /tmp/expect.err || die "$(cat /tmp/expect.err)"
        [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        expect 3 artis sched status >/dev/null

        # Other work that is a command: its time is measured on each.
        printf '[rest]\ncommand = ["sh", "-c", "exit 0"]\n' >/tmp/rest.toml
        expect 1 artis decide /tmp/rest.toml --measure -D 1 --rt 1 --keep "$ARTIS_OUTPUT/rest"
        mv "$ARTIS_OUTPUT"/rest/*.rest.json "$ARTIS_OUTPUT"
        rm -r "$ARTIS_OUTPUT/rest"

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
    let ways = [
        ("stock", None),
        ("tuned", None),
        ("shield", None),
        ("artis", Some("artis")),
    ];
    for (name, scheduler) in ways {
        let result = ran.json(&format!("{name}-1"));
        assert_eq!(result["machine"]["scheduler"].as_str(), scheduler, "{name}");
        let latency = &result["series"].as_array().unwrap()[0];
        assert_eq!(latency["name"], "latency", "{name}");
        let command = &ran.json(&format!("{name}-1.rest"))["series"][0];
        assert_eq!(command["name"], "real", "{name}");
        assert!(command["count"].as_u64() > Some(0), "{name}: {command}");
    }
    assert_eq!(ran.json("work")["series"][0]["name"], "command");
}
