// SPDX-License-Identifier: GPL-2.0-only
//! Tests with what Xenomai prints.

use super::super::tests::refused_at;
use super::*;

const FILE: &str = "\
== Sampling period: 100 us
warming up...
RTT|  00:00:01  (periodic user-mode task, 100 us period, priority 99)
RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst
RTD|      1.100|      1.850|      4.900|       0|     0|      1.100|      4.900
RTD|      1.050|      1.900|      9.400|       2|     0|      1.050|      9.400
---|--param|----range-|--samples
HSD|    min|   1 -  2 |        2
---|--param|----range-|--samples
HSD|    avg|   1 -  2 |    15000
HSD|    avg|   2 -  3 |     4990
HSD|    avg|   9 - 10 |       10
HSH|--param|--samples-|--average--|---stddev--
HSS|    avg|     20000|      1.252|      0.462
---|-----------|-----------|-----------|--------|------|-------------------------
RTS|      1.050|      1.875|      9.400|       2|     0|    00:00:02/00:00:02
";

fn read(content: &str) -> Result<Document, Refusal> {
    Xenomai.read(content.as_bytes(), None)
}

fn refused(from: &str, to: &str) -> (usize, String) {
    refused_at(&Xenomai, FILE, from, to)
}

#[test]
fn the_histogram_and_the_intervals_are_series() {
    let document = read(FILE).unwrap();
    let names: Vec<&str> = document
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["latency", "interval_min", "interval_mean", "interval_max"]
    );
    let moments = document.series[0].distribution.moments().unwrap();
    assert_eq!(
        (moments.count, moments.min, moments.max),
        (20_000, 1050, 9400)
    );
    assert_eq!(moments.mean, 1875.0);
    assert_eq!(document.series[0].missed, Some(2));
    assert_eq!(document.series[3].distribution.moments().unwrap().min, 4900);
    assert_eq!(document.seconds, Some(2.0));
    assert_eq!(document.setup.options["interval_us"], 100);
    assert!(document.audit.is_empty(), "{:?}", document.audit);
}

#[test]
fn evl_tells_the_cpu_and_needs_no_histogram() {
    let content = "RTT|  00:00:01  (user, 1000 us period, priority 98, CPU1-noisol)\n\
        RTD|     -0.100|      1.850|      4.900|       0|     0|     -0.100|      4.900\n";
    let document = read(content).unwrap();
    assert_eq!(document.series[0].cpu, Some(1));
    assert_eq!(document.series[0].distribution.moments().unwrap().min, -100);
}

#[test]
fn the_last_cell_counts_what_is_beyond_it() {
    let over = FILE.replace(
        "     9.400|       2|     0|    00",
        "    90.000|       2|     0|    00",
    );
    let document = read(&over).unwrap();
    let values = &document.series[0].distribution;
    assert_eq!(values.percentile(99.99), None);
    assert_eq!(values.moments().unwrap().max, 90_000);
    assert_eq!(document.audit[0].id, "histogram_overflow");
}

#[test]
fn early_wake_ups_lose_their_sign_with_a_warning() {
    let early = FILE.replace("RTS|      1.050|", "RTS|     -1.050|");
    let document = read(&early).unwrap();
    assert_eq!(
        document.series[0].distribution.moments().unwrap().min,
        -1050
    );
    assert_eq!(document.audit[0].id, "sign_lost");
}

#[test]
fn damage_is_reported_with_its_line() {
    assert_eq!(refused("100 us period", "x us period").0, 3);
    assert_eq!(refused("     1.100|", "    1.1x0|").0, 5);
    assert_eq!(refused("      1.100", "     11.100").0, 5);
    assert_eq!(refused("|      9.400\n", "\n").0, 6);
    assert_eq!(refused("2 -  3", "1 -  3").0, 11);
    assert_eq!(refused("avg|   9", "avg|   99999999999999").0, 12);
    assert!(
        refused("RTS|      1.050|      1.875", "RTS|      1.050|      7.875")
            .1
            .contains("-B")
    );
    assert!(refused("RTS|", "XXX|").1.contains("cut off"));
    let bare = read("RTS|1|2|3|0|0|00:00:02/00:00:02\n").unwrap_err();
    assert!(bare.reason.contains("-s"), "{}", bare.reason);
}

#[test]
fn without_a_histogram_the_last_line_is_a_summary() {
    let statistics = "HSS|    min|         2|      1.085|      0.281\n\
        HSS|    avg|     19943|      2.200|      1.460\n";
    let rows = |from: &str, to: &str| {
        let lines = FILE.lines().filter(|line| !line.starts_with("HS"));
        let text: Vec<&str> = lines.collect();
        (text.join("\n") + "\n").replacen(from, to, 1)
    };
    let quiet = "== Sampling period: 100 us\n\
        RTS|      1.050|      1.875|      9.400|       2|     0|    00:00:02/00:00:02\n";
    for (content, count, warnings) in [
        (rows("RTS", &format!("{statistics}RTS")), 19_943, 1),
        (rows("RTS", "RTS"), 20_000, 2),
        (quiet.to_owned(), 20_000, 2),
    ] {
        let document = read(&content).unwrap();
        let latency = &document.series[0];
        let moments = latency.distribution.moments().unwrap();
        assert_eq!(
            (latency.name.as_str(), latency.missed),
            ("latency", Some(2))
        );
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (count, 1050, 9400),
            "{content}"
        );
        assert_eq!(
            (moments.mean, latency.distribution.percentile(50.0)),
            (1875.0, None)
        );
        assert_eq!(document.audit.len(), warnings, "{:?}", document.audit);
    }
}
