// SPDX-License-Identifier: GPL-2.0-only
//! Values of a file with their place in it: a value that is out of range is named with its line,
//! its key and what is allowed.

use super::{Error, TIME_NS_MAX};
use artis_result::damage::Fault;
use artis_result::value::time_us;
use std::ops::RangeInclusive;
use toml::{Spanned, Value};

/// The file's text, for the lines of its values.
pub struct Text<'a>(pub &'a str);

/// A value and where it stands.
pub type Written = Spanned<Value>;

impl Text<'_> {
    /// What is wrong with a value.
    pub fn fault(&self, key: &str, value: &Written, allowed: &str) -> Error {
        let before = self.0.get(..value.span().start).unwrap_or(self.0);
        let shown = match value.get_ref() {
            Value::Table(_) => "this table",
            Value::Array(_) => "this list",
            _ => self.0.get(value.span()).unwrap_or("it").trim(),
        };
        Error::Syntax(Fault {
            line: Some(before.matches('\n').count() + 1),
            reason: format!("{key}: {shown} is not allowed; {allowed}"),
        })
    }

    /// A time with its unit, nanoseconds; `least` is 0 or 1.
    pub fn time(&self, key: &str, value: &Written, least: u64) -> Result<u64, Error> {
        let found = match value.get_ref() {
            Value::String(text) if is_zero(text) => Some(0),
            Value::String(text) => time_us(text).ok().map(|us| (us * 1e3).round() as u64),
            _ => None,
        };
        let shortest = if least == 0 { "0ns" } else { "1ns" };
        found
            .filter(|ns| (least..=TIME_NS_MAX).contains(ns))
            .ok_or_else(|| {
                let allowed = format!(
                    "write a time with its unit in quotes, from {shortest} to 1d: \"250us\", \
                     \"1.5ms\""
                );
                self.fault(key, value, &allowed)
            })
    }

    /// A time that may be absent, and is 0 then.
    pub fn time_or_zero(&self, key: &str, value: Option<&Written>) -> Result<u64, Error> {
        value.map_or(Ok(0), |value| self.time(key, value, 0))
    }

    /// A whole number.
    pub fn whole(
        &self,
        key: &str,
        value: &Written,
        range: &RangeInclusive<u32>,
    ) -> Result<u32, Error> {
        let found = match value.get_ref() {
            Value::Integer(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        found.filter(|it| range.contains(it)).ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            self.fault(
                key,
                value,
                &format!("write a whole number from {first} to {last}"),
            )
        })
    }

    /// A number between two others, which it is not.
    pub fn between(
        &self,
        key: &str,
        value: &Written,
        (low, high): (f64, f64),
    ) -> Result<f64, Error> {
        let found = match value.get_ref() {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        };
        found.filter(|it| *it > low && *it < high).ok_or_else(|| {
            self.fault(
                key,
                value,
                &format!("write a number above {low} and below {high}"),
            )
        })
    }

    /// A text in quotes that is not empty and has no control characters.
    pub fn words(&self, key: &str, value: &Written) -> Result<String, Error> {
        let found = value.get_ref().as_str().map(str::trim);
        found
            .filter(|text| !text.is_empty() && !text.chars().any(char::is_control))
            .map(str::to_owned)
            .ok_or_else(|| {
                self.fault(
                    key,
                    value,
                    "write a text in quotes, without control characters",
                )
            })
    }

    /// One of these words.
    pub fn one_of<T: Copy>(
        &self,
        key: &str,
        value: &Written,
        known: &[(&str, T)],
    ) -> Result<T, Error> {
        let found = value.get_ref().as_str();
        let found = known.iter().find(|(name, _)| Some(*name) == found);
        found.map(|(_, what)| *what).ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.fault(key, value, &format!("write {}", names.join(" or ")))
        })
    }
}

/// `0`, with or without a unit.
fn is_zero(text: &str) -> bool {
    let number = text
        .trim()
        .trim_end_matches(|c: char| c.is_ascii_lowercase());
    number.trim() == "0"
}
