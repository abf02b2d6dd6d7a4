// SPDX-License-Identifier: GPL-2.0-only
//! The published schemas, `docs/*.schema.json`, say what this program writes: no more and no
//! less. One file a schema; here is what they are held to.

mod admission;
mod comparison;
mod decision;
mod experiment;
mod explain;
pub mod machine;
mod result;
pub mod simulation;
pub mod top;

use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeSet;

/// A published schema.
pub struct Published {
    schema: Value,
    validator: Validator,
}

impl Published {
    pub fn new(text: &str) -> Self {
        let schema = serde_json::from_str(text).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        Self { schema, validator }
    }

    pub fn takes(&self, document: &Value) -> bool {
        self.validator.is_valid(document)
    }

    #[track_caller]
    pub fn assert_valid(&self, document: &Value) {
        let complaints: Vec<String> = self
            .validator
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    /// Every name that the schema gives.
    pub fn promised(&self) -> BTreeSet<String> {
        let mut objects = vec![&self.schema];
        objects.extend(self.schema["$defs"].as_object().unwrap().values());
        let names = objects
            .iter()
            .filter_map(|object| object["properties"].as_object())
            .flat_map(|properties| properties.keys().cloned());
        names.collect()
    }

    /// Every name that the schema gives, also in objects without a definition of their own.
    pub fn promised_everywhere(&self) -> BTreeSet<String> {
        fn collect(value: &Value, names: &mut BTreeSet<String>) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::Object(properties)) = map.get("properties") {
                        names.extend(properties.keys().cloned());
                    }
                    map.values().for_each(|value| collect(value, names));
                }
                Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
                _ => {}
            }
        }
        let mut names = BTreeSet::new();
        collect(&self.schema, &mut names);
        names
    }

    /// `whole` is a document in which nothing is absent.
    #[track_caller]
    pub fn assert_promises_only(&self, whole: &Value) {
        let found = keys(whole);
        for name in self.promised() {
            assert!(
                found.contains(&name),
                "{name} is in the schema, but in no document"
            );
        }
    }

    /// The schema takes names that it does not know, as readers do: this finds those it lacks, but
    /// for those that are free.
    #[track_caller]
    pub fn assert_knows(&self, whole: &Value, free: &[&str]) {
        let promised = self.promised();
        for name in keys(whole) {
            assert!(
                promised.contains(&name) || free.contains(&name.as_str()),
                "{name} is written, but not in the schema"
            );
        }
    }

    /// Each damage is a place in `whole` that exists, and what is put there.
    #[track_caller]
    pub fn assert_takes_none(&self, whole: &Value, damages: &[(&str, Value)]) {
        for (place, value) in damages {
            let mut damaged = whole.clone();
            *damaged.pointer_mut(place).unwrap() = value.clone();
            assert!(!self.takes(&damaged), "the schema takes {place}");
        }
    }

    /// What is wrong for the program is wrong for the schema, too. Each damage is a place in
    /// `whole`, and what is put there.
    #[track_caller]
    pub fn assert_neither_takes<T: serde::de::DeserializeOwned>(
        &self,
        whole: &Value,
        damages: &[(&str, Value)],
    ) {
        for (place, value) in damages {
            let mut damaged = whole.clone();
            let (parent, key) = place.rsplit_once('/').unwrap();
            damaged.pointer_mut(parent).unwrap()[key] = value.clone();
            assert!(!self.takes(&damaged), "the schema takes {place}");
            let read = serde_json::from_value::<T>(damaged);
            assert!(read.is_err(), "the program takes {place}");
        }
    }
}

/// The names of everything in a document.
pub fn keys(value: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                all.insert(key.clone());
                all.append(&mut keys(value));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all.append(&mut keys(item))),
        _ => {}
    }
    all
}
