// SPDX-License-Identifier: GPL-2.0-only
//! `docs/machine.schema.json`: the files of the page fit it and have each of its names, and what
//! artis writes fits it.

use super::Published;
use serde_json::{Value, json};

pub fn published() -> Published {
    Published::new(include_str!("../../../docs/machine.schema.json"))
}

#[test]
fn made_machines_fit_and_have_each_name() {
    let schema = published();
    let file = include_str!("../../data/field/laptop.json");
    let whole: Value = serde_json::from_str(file).unwrap();
    schema.assert_valid(&whole);
    schema.assert_promises_only(&whole);
    schema.assert_takes_none(
        &whole,
        &[
            ("/schema", json!("artis.machine/2")),
            ("/columns/0/way", json!("bobs-way")),
            ("/columns/0/runs/0/latency/us_max", json!(-1)),
            ("/columns/0/runs/0/causes", json!(["bad luck"])),
            (
                "/hardware",
                json!({"cpus": 4, "architecture": "x86_64", "host": "bobs-pc"}),
            ),
        ],
    );
}
