// SPDX-License-Identifier: GPL-2.0-only
//! What the JSON formats share: maps that keep every entry, and the line of a failure.

use super::Refusal;
use crate::damage;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// A map as its entries, ascending; two of one key are refused.
pub struct Entries<K, V>(pub Vec<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Entries<K, V> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<K, V> {
    type Value = Entries<K, V>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a map from numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(K, V)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        entries.sort_by(|(one, _), (two, _)| one.cmp(two));
        if entries.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(A::Error::custom("two entries have one key"));
        }
        Ok(Entries(entries))
    }
}

/// Understands a whole file.
pub fn file<'a, T: Deserialize<'a>>(content: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(content).map_err(|error| refusal(&error, 1))
}

/// Understands a part of `content`; gives its line, too.
pub fn part<T: DeserializeOwned>(content: &str, raw: &RawValue) -> Result<(usize, T), Refusal> {
    let start = raw.get().as_ptr() as usize - content.as_ptr() as usize;
    let line = content[..start].matches('\n').count() + 1;
    let value = serde_json::from_str(raw.get()).map_err(|error| refusal(&error, line))?;
    Ok((line, value))
}

fn refusal(error: &serde_json::Error, first_line: usize) -> Refusal {
    Refusal::line(first_line + error.line().max(1) - 1, damage::reason(error))
}
