// SPDX-License-Identifier: GPL-2.0-only
//! `docs/admission.schema.json`: what `artis admit --json` prints fits it, and has no name that it
//! lacks.

use super::{Published, keys};
use serde_json::json;
use std::collections::BTreeSet;

fn published() -> Published {
    Published::new(include_str!("../../../docs/admission.schema.json"))
}

#[test]
fn answers_fit_and_hold_what_is_promised() {
    let schema = published();
    let mut found = BTreeSet::new();
    for document in crate::admit::documents() {
        schema.assert_valid(&document);
        found.append(&mut keys(&document));
    }
    assert_eq!(found, schema.promised_everywhere());
}

#[test]
fn damaged_answers_do_not_fit() {
    let document = crate::admit::documents().swap_remove(1);
    let damages = [
        ("/schema", json!("artis.admission/2")),
        ("/verdict", json!("perhaps")),
        ("/cpus/0/tasks/0/bound_ns", json!(-1)),
        ("/cpus/0/quick/says", json!("maybe")),
        ("/cpus/0/changes/0/number", json!("luck")),
    ];
    published().assert_takes_none(&document, &damages);
}
