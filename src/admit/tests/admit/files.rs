// SPDX-License-Identifier: GPL-2.0-only
//! Files that are wrong, and those that are shipped.

use artis_admit::model::{Error, Execution, Policy, Set};
use artis_admit::{Verdict, admit};

const GOOD: &str = "cpus = \"1,3\"\npolicy = \"rm\"\n[locks]\nmap = \"ceiling\"\n\
                    [[task]]\nname = \"a\"\nperiod = \"1ms\"\nexecution = \"250us\"\n\
                    locks = { map = \"20us\" }\n";

#[test]
fn a_file_is_understood() {
    let set = Set::parse(GOOD).unwrap();
    assert_eq!((set.policy, set.cpus.as_slice()), (Policy::Rm, &[1, 3][..]));
    assert_eq!(set.tasks[0].execution, Execution::Ns(250_000));
    assert_eq!(set.tasks[0].deadline_ns, 1_000_000);
    assert_eq!(set.tasks[0].locks[0].time_ns, 20_000);
}

/// Line, key, value and what is allowed.
#[test]
fn bad_files_say_where_and_what_is_allowed() {
    // One row a line.
    #[rustfmt::skip]
    let rows = [
        ("\"1ms\"", "\"2d\"", "line 7: period: \"2d\" is not allowed; write a time with its unit"),
        ("\"1ms\"", "5", "line 7: period: 5 is not allowed; write a time"),
        ("\"1ms\"", "\"0us\"", "from 1ns to 1d"),
        ("\"rm\"", "\"best\"", "line 2: policy: \"best\" is not allowed; write \"rm\" or \"dm\""),
        ("\"1,3\"", "\"x\"", "line 1: cpus: \"x\" is not allowed"),
        ("\"ceiling\"", "\"hope\"", "line 4: locks.map: \"hope\" is not allowed"),
        ("map = \"20us\"", "mop = \"20us\"", "line 9: locks.mop: \"20us\" is not allowed; say"),
        ("\"20us\"", "\"300us\"", "it holds the lock map longer than it executes"),
        ("name = \"a\"", "nome = \"a\"", "line 6: nome is no key here"),
        ("\"250us\"", "{ file = \"x\", quantile = 2 }", "line 8: execution: this table is not"),
        ("period", "priority = 3\nperiod", "a priority is of the policy \"given\""),
        ("period", "cpu = 2\nperiod", "cpu = 2 is none of the set's RT CPUs"),
        ("period = \"1ms\"", "", "give either period, of a timer, or distance"),
        ("execution = \"250us\"", "", "the key execution is missing"),
    ];
    for (from, to, sentence) in rows {
        assert!(GOOD.contains(from), "{from}");
        let error = Set::parse(&GOOD.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(sentence), "{to}: {error}");
    }
    let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[task]]").unwrap()..]);
    assert!(
        matches!(Set::parse(&twice), Err(Error::Contradiction(it)) if it.contains("two tasks"))
    );
    assert!(Set::parse("").unwrap_err().to_string().contains("0 tasks"));
}

#[test]
fn servers_are_refused_with_a_sentence() {
    let text = GOOD.replace("period", "server = { budget = \"1ms\" }\nperiod");
    let answer = admit(&Set::parse(&text).unwrap());
    assert_eq!(answer.verdict, Verdict::Unknown);
    assert!(
        answer.because.contains("constant-bandwidth server"),
        "{}",
        answer.because
    );
}

#[test]
fn shipped_sets_are_admitted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/admit");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert!(files.len() >= 3);
    for file in files {
        let path = file.unwrap().path();
        let set = Set::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let answer = admit(&set);
        let place = path.display();
        assert_eq!(
            answer.verdict,
            Verdict::Schedulable,
            "{place}: {}",
            answer.because
        );
    }
}
