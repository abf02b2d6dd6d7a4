// SPDX-License-Identifier: GPL-2.0-only
//! `docs/comparison.schema.json`: what `artis compare --json` prints fits it, and has no name that
//! it lacks.

use super::{Published, keys};
use serde_json::json;

fn published() -> Published {
    Published::new(include_str!("../../../docs/comparison.schema.json"))
}

#[test]
fn a_comparison_fits_and_holds_what_is_promised() {
    let document = crate::compare::document_with_gates();
    published().assert_valid(&document);
    published().assert_promises_only(&document);
    let mut found = keys(&document);
    // The figures have the names of what was measured.
    for one in document["configurations"].as_array().unwrap() {
        for name in one["figures"].as_object().unwrap().keys() {
            found.remove(name);
        }
    }
    let promised = published().promised_everywhere();
    let unknown: Vec<_> = found.difference(&promised).collect();
    assert!(
        unknown.is_empty(),
        "written, but not in the schema: {unknown:?}"
    );
}

#[test]
fn damaged_documents_do_not_fit() {
    let document = crate::compare::document_with_gates();
    let damages = [
        ("/schema", json!("artis.comparison/2")),
        ("/gates/0/held", json!("perhaps")),
        ("/gates/0/checks/0/outcome", json!("nearly")),
        ("/configurations/0/missed", json!(-1)),
    ];
    published().assert_takes_none(&document, &damages);
}
