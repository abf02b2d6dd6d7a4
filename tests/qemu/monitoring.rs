// SPDX-License-Identifier: GPL-2.0-only
//! The light watch, `artis top` and `artis metrics` where artis schedules. CPU 1 is the RT CPU.

use super::shared::Script;

on_kernel!(normal, "newest": rt0_is_watched_while_artis_schedules);

pub static WATCHED: Script = Script {
    name: "monitoring::rt0_is_watched_while_artis_schedules",
    rt: false,
    counts: &[],
    text: r#"start --rt 1
        artis measure latency -a 1 -i 1000 -D 600 -q >/dev/null 2>/tmp/measure.err &
        measure=$!
        artis run rt0 --cpu 1 --period 100ms --budget 20ms -- sleep 600 2>/dev/null &
        admitted=$!
        i=0
        until artis top --once --json --every 300ms >top.json &&
            grep -q '"bound_ns": [1-9]' top.json && grep -q artis-measure top.json; do
            i=$((i + 1))
            [ $i -lt 100 ] || die "never: $(cat top.json /tmp/measure.err)"
        done
        artis top --once --json --every 2s --bound 1us >late.json
        [ $? = 2 ] || die 'nobody was late'
        artis metrics --every 300ms >metrics.txt 2>metrics.err || die 'no metrics'
        kill $measure $admitted
        wait $measure $admitted
        # An empty register stays, and is none of the settings.
        rm -f /run/artis/admitted.json
        artis sched stop >/dev/null
        wait $artis || die "artis sched run ended with $?""#,
};

fn rt0_is_watched_while_artis_schedules(kernel: &str) {
    let ran = super::sched::counted(kernel).ran(kernel, &WATCHED);
    let now = ran.json("late");
    assert_eq!(now["scheduler"]["rt_cpus"], "1", "{now}");
    let role = |cpu: usize| now["cpus"][cpu]["role"].as_str().map(str::to_owned);
    assert_eq!(
        (role(0).as_deref(), role(1).as_deref()),
        (Some("nrt"), Some("rt"))
    );
    let threads = now["rt0"].as_array().unwrap();
    let named = |name: &str| {
        let mut found = threads.iter();
        found
            .find(|one| one["name"].as_str().is_some_and(|it| it.starts_with(name)))
            .unwrap()
    };
    let wakeups = &named("artis-measure")["wakeups"];
    assert!(wakeups["above"].as_u64() > Some(10), "{now}");
    let (late, all) = (wakeups["late"]["count"].as_u64(), wakeups["count"].as_u64());
    // Its timer is known, so hardly any wakeup is only queued.
    assert!(late.unwrap() * 10 >= all.unwrap() * 9, "{now}");
    assert_eq!(named("sleep")["admitted"]["bound_ns"], 20_000_000, "{now}");
    assert!(now["watch"]["recordings"].as_u64() > Some(0), "{now}");
    // The kernel lets the hook be that of real-time threads alone.
    assert_eq!(now["unknown"], serde_json::json!([]), "{now}");
    let metrics = String::from_utf8_lossy(ran.file("metrics.txt")).into_owned();
    for line in [
        "artis_scheduling 1",
        "artis_scheduler_leaks_total{kind=\"sleep\"} 0",
        "artis_cpu_role{cpu=\"1\",role=\"RT\"} 1",
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "no {line} in {metrics}"
        );
    }
}
