// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::column::tests::column;
use crate::hand_on::{Hardware, SCHEMA};

/// A made machine.
fn machine(id: usize, kernel: &str, governor: &str, stock: f64) -> (String, HandOn) {
    let file = HandOn {
        schema: SCHEMA.to_owned(),
        tool: "artis".to_owned(),
        id: format!("id-{id}"),
        month: None,
        hardware: Hardware {
            cpu_model: Some(format!("CPU {}", id % 3)),
            ..Hardware::default()
        },
        settings: BTreeMap::from([("governor".to_owned(), governor.to_owned())]),
        load: "hackbench".to_owned(),
        columns: vec![
            column("stock", kernel, &[stock, stock * 1.1, -stock * 90.0]),
            column("artis", kernel, &[20.0]),
        ],
    };
    (format!("machine-{id}.json"), file)
}

/// So many machines from a seed; those with an even number have the slower governor, by `factor`.
fn machines(count: usize, seed: u64, factor: f64) -> Vec<(String, HandOn)> {
    let mut state = seed;
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    };
    (0..count)
        .map(|id| {
            let slow = if id % 2 == 0 { factor } else { 1.0 };
            let governor = if id % 2 == 0 {
                "powersave"
            } else {
                "performance"
            };
            let kernel = if random() < 0.5 { "6.12" } else { "6.18" };
            machine(id, kernel, governor, 100.0 * (1.0 + random()) * slow)
        })
        .collect()
}

#[test]
fn a_setting_that_goes_with_worse_latencies_is_named_and_no_other() {
    let joined = join(&machines(60, 7, 4.0)).unwrap();
    let found: Vec<(&str, &str, &str)> = joined
        .groups
        .iter()
        .map(|one| (one.what.as_str(), one.value.as_str(), one.way.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("governor", "performance", "stock"),
            ("governor", "powersave", "stock")
        ]
    );
    let slower = &joined.groups[1];
    assert!(slower.times > 3.0 && slower.times < 5.0, "{slower:?}");
    assert_eq!((slower.with, slower.without), (30, 30));
}

#[test]
fn equal_machines_give_no_answer_whatever_the_seed() {
    // At most one of twenty families of questions may be answered wrongly.
    let wrong = (0..40).filter(|seed| {
        let joined = join(&machines(40, *seed, 1.0)).unwrap();
        assert!(joined.questions >= 7, "{joined:?}");
        !joined.groups.is_empty()
    });
    assert!(wrong.count() <= 4);
}

#[test]
fn the_machine_far_from_all_others_is_named() {
    let mut all = machines(30, 3, 1.0);
    assert_eq!(join(&all).unwrap().standing_out, []);
    all.push(machine(99, "6.12", "performance", 9000.0));
    let joined = join(&all).unwrap();
    let [out] = &joined.standing_out[..] else {
        panic!("{joined:?}");
    };
    assert_eq!(
        (out.name.as_str(), out.way.as_str()),
        ("machine-99.json", "stock")
    );
    assert!(out.times > 30.0, "{out:?}");
    let stock = joined.ways.iter().find(|one| one.way == "stock").unwrap();
    assert_eq!(
        (stock.machines, stock.runs, stock.runs_left_out),
        (31, 62, 31)
    );
    let artis = joined.ways.iter().find(|one| one.way == "artis").unwrap();
    assert_eq!(artis.better_than_stock, Some((31, 31)));
}

#[test]
fn one_machine_twice_is_refused() {
    let mut all = machines(2, 1, 1.0);
    all.push(("copy.json".to_owned(), all[0].1.clone()));
    let error = join(&all).unwrap_err().to_string();
    assert!(error.contains("machine-0.json and copy.json"), "{error}");
}

#[test]
fn few_machines_are_shown_and_not_judged() {
    let joined = join(&machines(3, 1, 9.0)).unwrap();
    assert_eq!((joined.questions, joined.standing_out.len()), (0, 0));
    assert_eq!(joined.ways.len(), 2);
    assert_eq!(join(&[]).unwrap().machines, 0);
}
