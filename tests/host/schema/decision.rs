// SPDX-License-Identifier: GPL-2.0-only
//! `docs/decision.schema.json`: every recorded case fits it, and has no name that it lacks.

use super::{Published, keys};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub fn published() -> Published {
    Published::new(include_str!("../../../docs/decision.schema.json"))
}

/// What all documents together hold is what the schema promises: no more and no less.
#[test]
fn the_recorded_cases_fit_and_hold_what_is_promised() {
    let schema = published();
    let mut found = BTreeSet::new();
    for document in crate::decide::all_documents() {
        schema.assert_valid(&document);
        found.append(&mut keys(&document));
    }
    let promised = schema.promised_everywhere();
    // Of a refusal, what it was told from.
    let details = [
        "blocks",
        "values",
        "needed",
        "percent",
        "p",
        "size",
        "shape",
        "distance",
        "bound",
        "count",
        "few",
        "many",
        "shape_of_many",
    ];
    let unknown: Vec<_> = found
        .difference(&promised)
        .filter(|name| !details.contains(&name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "written, but not in the schema: {unknown:?}"
    );
    // No recorded case has a work_command or work_file, fits a law, or is so short that nothing is
    // shown.
    let elsewhere = [
        "command",
        "file",
        "by_peaks",
        "unseen",
        "laws",
        "values",
        "left_out",
        "threshold_us",
        "scale_us",
        "shape",
        "activations_needed",
    ];
    let missing: Vec<_> = promised
        .difference(&found)
        .filter(|name| !elsewhere.contains(&name.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "in the schema, but in no document: {missing:?}"
    );
}

#[test]
fn damaged_documents_do_not_fit() {
    let document = crate::decide::all_documents().swap_remove(0);
    let damages = [
        ("/schema", json!("artis.decision/2")),
        ("/job/loss", json!(2)),
        ("/decided/choice", json!("perhaps")),
        ("/candidates/0/way", json!("luck")),
        ("/flow_says", Value::Null),
        ("/principles/0/number", json!(7)),
    ];
    published().assert_takes_none(&document, &damages);
}
