// SPDX-License-Identifier: GPL-2.0-only
//! Tests of job files: what is read, and what is refused.

use super::*;
use proptest::prelude::*;

const WHOLE: &str = r#"
        name = "fuel injection"
        [activation]
        deadline = "250us"
        period = "1ms"
        work = "100 us"
        nature = "system-calls"
        [miss]
        probability = 1e-6
        [rest]
        load = "hackbench"
        loss = "10 %"
        [machine]
        memory_needed = "512MiB"
        memory = "1GiB"
        virtual = true
        utilisation = 0.5
    "#;

#[test]
fn every_field_is_understood() {
    let job = Job::parse(WHOLE).unwrap();
    let expected = Job {
        name: "fuel injection".to_owned(),
        deadline_us: Some(250.0),
        rate: Some(1000.0),
        work: Some(Work::Us(100.0)),
        nature: Nature::SystemCalls,
        barrier: false,
        miss: Miss::Hard {
            probability: Some(1e-6),
        },
        rest: Some("hackbench".to_owned()),
        rest_command: None,
        loss: 0.1,
        memory_needed: Some(536_870_912.0),
        memory: Some(1_073_741_824.0),
        is_virtual: true,
        utilisation: Some(0.5),
    };
    assert_eq!(job, expected);
    assert!(!job.fills_memory());
    assert_eq!(Job::parse("").unwrap(), Job::default());
}

#[test]
fn wrong_jobs_are_refused_with_a_sentence() {
    // One row a line.
    #[rustfmt::skip]
    let rows = [
        ("deadline", "dead_line", "line 4: dead_line is no key here; write deadline, period"),
        ("250us", "250", "line 4: deadline: write a time with its unit"),
        (
            "\"250us\"",
            "250",
            "line 4: deadline: 250 does not fit; write a string with its unit, in quotes",
        ),
        (
            "probability = 1e-6",
            "per_hour = \"x\"",
            "line 9: per_hour: \"x\" does not fit; write a number",
        ),
        ("250us", "1e300s", "line 4: deadline: write a time with its unit, from 1ns"),
        ("1GiB", "1e300TiB", "line 15: memory: write a size with its unit, up to"),
        ("period = \"1ms\"", "per_second = 1e300", "above 0, up to 1e9"),
        ("probability = 1e-6", "per_hour = 1e300", "from 0 to 3.6e12"),
        ("250us", "-1us", "line 4: deadline: write a time with its unit"),
        (
            "system-calls",
            "kernel",
            "line 7: nature: \"kernel\" is not known here; write \"user\" or",
        ),
        ("work = \"100 us\"", "", "no work is given"),
        ("work = ", "work_file = \"a.json\"\nwork = ", "there are several"),
        ("period = ", "per_second = 5\nperiod = ", "say the same thing"),
        ("probability = 1e-6", "probability = 2", "above 0 and below 1"),
        ("probability = 1e-6", "hard = true\nper_hour = 2", "give one of them"),
        ("10 %", "110 %", "line 12: loss: write a part"),
        ("memory = \"1GiB\"", "", "give both"),
        ("1GiB", "much", "line 15: memory: write a size"),
        ("100 us", "2ms", "200 % of a CPU"),
        ("[rest]", "[rest", "line 10"),
        ("probability = 1e-6", "hard = false", "add per_hour or probability"),
        ("work = \"100 us\"", "work_command = []", "it is empty"),
        ("load = \"hackbench\"", "command = []", "it is empty"),
        ("[rest]", "[rest]\ncommand = [\"make\"]", "give one of them"),
        ("work = \"100 us\"", "work_command = [\" \"]", "it is empty"),
    ];
    for (from, to, part) in rows {
        assert!(WHOLE.contains(from), "{from}");
        let error = Job::parse(&WHOLE.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(part), "{to}: {error}");
    }
}

#[test]
fn what_is_missing_is_named_for_a_file_and_as_an_option() {
    let text = WHOLE.replace("probability = 1e-6", "per_hour = 5");
    let text = text.replace("period = \"1ms\"", "");
    let error = Job::parse(&text).unwrap_err();
    assert!(error.to_string().contains("below [activation]"), "{error}");
    let as_options = error.of_options();
    assert!(as_options.contains("--period TIME"), "{as_options}");
    for option in ["loss = \"10 %\"", "probability = 1e-6"] {
        let section = if option.starts_with("loss") {
            "rest"
        } else {
            "miss"
        };
        let error = Job::parse(&format!("[{section}]\n{option}")).unwrap_err();
        assert!(error.of_options().contains("--deadline TIME"), "{error}");
    }
}

#[test]
fn what_the_peak_needs_is_what_has_to_be_kept() {
    let job = |utilisation, loss| Job {
        utilisation,
        loss,
        ..Job::default()
    };
    assert_eq!(job(None, 0.2).wanted(), 0.8);
    assert_eq!(job(Some(0.5), 0.2).wanted(), 0.4);
    assert_eq!(job(None, 1.0).served(1.05), 1.05);
    assert_eq!(job(Some(0.5), 1.0).served(0.6), 1.0);
    assert_eq!(job(Some(0.8), 1.0).served(0.4), 0.5);
    assert_eq!(job(Some(0.0), 1.0).served(0.0), 1.0);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\[activation\\]\n|work = |\"[0-9]{1,3}[a-z]{1,2}\"\n|.){0,12}") {
        let _ = Job::parse(&text);
    }
}
