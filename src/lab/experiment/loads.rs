// SPDX-License-Identifier: GPL-2.0-only
//! The key `loads` of an experiment file: one list of loads, or a table of several lists, which run
//! one after the other, each in guests of its own.

use artis_load::own::Load;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Every set of loads of an experiment, in the order of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSets(Vec<LoadSet>);

/// Loads that run side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSet {
    /// A part of the names of its rows; none where the file has one list only.
    pub name: Option<String>,
    pub loads: Vec<Load>,
}

impl LoadSets {
    pub fn sets(&self) -> &[LoadSet] {
        &self.0
    }
}

impl LoadSet {
    /// Each load as often as it runs on so many CPUs: once, or once for every `cpus_per_load`.
    pub fn on(&self, cpus: u32, cpus_per_load: Option<u32>) -> Vec<Load> {
        let copies = cpus_per_load.map_or(1, |each| cpus.div_ceil(each));
        let loads = self.loads.iter();
        loads.flat_map(|load| (0..copies).map(|_| *load)).collect()
    }
}

impl<'de> Deserialize<'de> for LoadSets {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(ListOrTable)
    }
}

struct ListOrTable;

impl<'de> Visitor<'de> for ListOrTable {
    type Value = LoadSets;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a list of loads, or a table of such lists")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LoadSets, A::Error> {
        let mut loads = Vec::new();
        while let Some(load) = list.next_element()? {
            loads.push(load);
        }
        Ok(LoadSets(vec![LoadSet { name: None, loads }]))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<LoadSets, A::Error> {
        let mut sets = Vec::new();
        while let Some((name, loads)) = table.next_entry()? {
            let name = Some(name);
            sets.push(LoadSet { name, loads });
        }
        Ok(LoadSets(sets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        loads: LoadSets,
    }

    fn read(text: &str) -> Result<LoadSets, String> {
        let file = toml::from_str::<File>(text);
        file.map(|file| file.loads)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_is_one_set_without_a_name() {
        let sets = read(r#"loads = ["locks", "compute"]"#).unwrap();
        let [set] = sets.sets() else {
            panic!("{sets:?}");
        };
        assert_eq!(set.name, None);
        assert_eq!(set.loads, [Load::Locks, Load::Compute]);
    }

    #[test]
    fn a_table_is_a_set_for_each_name_in_the_order_of_the_file() {
        let sets = read("[loads]\nsome = [\"io\"]\nnone = []\nmore = [\"io\", \"io\"]\n").unwrap();
        let names: Vec<_> = sets.sets().iter().map(|set| set.name.as_deref()).collect();
        assert_eq!(names, [Some("some"), Some("none"), Some("more")]);
        assert_eq!(sets.sets()[2].loads, [Load::Io, Load::Io]);
    }

    #[test]
    fn other_values_are_refused() {
        for (text, said) in [
            ("loads = 3", "a list of loads, or a table of such lists"),
            ("loads = [\"atris\"]", "unknown variant `atris`"),
            ("[loads]\na = [\"atris\"]", "unknown variant `atris`"),
            ("[loads]\na = \"io\"", "expected a sequence"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn loads_grow_with_the_cpus_where_that_is_asked_for() {
        let set = LoadSet {
            name: None,
            loads: vec![Load::Io, Load::Locks],
        };
        assert_eq!(set.on(8, None).len(), 2);
        assert_eq!(set.on(2, Some(2)), [Load::Io, Load::Locks]);
        let five = [
            Load::Io,
            Load::Io,
            Load::Io,
            Load::Locks,
            Load::Locks,
            Load::Locks,
        ];
        assert_eq!(set.on(5, Some(2)), five);
    }
}
