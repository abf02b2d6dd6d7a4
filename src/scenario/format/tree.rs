// SPDX-License-Identifier: GPL-2.0-only
//! Values of a file with their places: what rt-app's files and ours are parsed into. Members of an
//! object keep their order, and a key may come more than once.

use super::place::{Wrong, quoted};
use crate::model::{NAME_MAX, TIME_NS_MAX};
use artis_machine::CpuList;
use artis_result::value;
use std::ops::RangeInclusive;

/// The most values of a file: at some tens of bytes each, what reading it may take.
pub const VALUES_MAX: usize = 2_000_000;

/// A value and the byte where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub at: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A word without a value, or null.
    Nothing,
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<Member>),
}

/// A key of an object, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: String,
    pub at: usize,
    pub value: Value,
}

impl Value {
    /// What it is, for sentences.
    fn found(&self) -> String {
        match &self.kind {
            Kind::Nothing => "nothing".to_owned(),
            Kind::Bool(it) => it.to_string(),
            Kind::Whole(it) => it.to_string(),
            Kind::Number(it) => it.to_string(),
            Kind::Text(it) => quoted(it),
            Kind::List(_) => "a list".to_owned(),
            Kind::Object(_) => "an object".to_owned(),
        }
    }

    /// This value does not fit; `allowed` begins with "write".
    pub fn wrong(&self, key: &str, allowed: &str) -> Wrong {
        let found = self.found();
        Wrong::new(self.at, format!("{key}: {found} does not fit; {allowed}"))
    }

    pub fn object(&self, key: &str) -> Result<&[Member], Wrong> {
        match &self.kind {
            Kind::Object(members) => Ok(members),
            _ => Err(self.wrong(key, "write keys with their values")),
        }
    }

    pub fn list(&self, key: &str) -> Result<&[Value], Wrong> {
        match &self.kind {
            Kind::List(values) => Ok(values),
            _ => Err(self.wrong(key, "write a list in square brackets")),
        }
    }

    /// A text that is neither empty nor very long.
    pub fn name(&self, key: &str) -> Result<&str, Wrong> {
        match &self.kind {
            Kind::Text(text)
                if (1..=NAME_MAX).contains(&text.len()) && !text.contains(char::is_control) =>
            {
                Ok(text)
            }
            _ => {
                let allowed = format!("write a name in quotes, up to {NAME_MAX} bytes");
                Err(self.wrong(key, &allowed))
            }
        }
    }

    pub fn truth(&self, key: &str) -> Result<bool, Wrong> {
        match self.kind {
            Kind::Bool(it) => Ok(it),
            _ => Err(self.wrong(key, "write true or false")),
        }
    }

    /// A whole number in a range.
    pub fn whole(&self, key: &str, range: RangeInclusive<i64>) -> Result<i64, Wrong> {
        let number = match self.kind {
            Kind::Whole(number) => Some(number),
            // Written as 1e6 or 1000.0.
            Kind::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(number as i64)
            }
            _ => None,
        };
        let (first, last) = (range.start(), range.end());
        number
            .filter(|it| range.contains(it))
            .ok_or_else(|| self.wrong(key, &format!("write a whole number from {first} to {last}")))
    }

    /// A number that is no bigger than `most`, from 0.
    pub fn amount(&self, key: &str, most: u64) -> Result<u64, Wrong> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.whole(key, 0..=most)?.unsigned_abs())
    }

    /// One of these words.
    pub fn one_of<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Result<T, Wrong> {
        let found = match &self.kind {
            Kind::Text(text) => known.iter().find(|(word, _)| word == text),
            _ => None,
        };
        found.map(|(_, it)| *it).ok_or_else(|| {
            let words: Vec<String> = known.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.wrong(key, &format!("write {}", words.join(" or ")))
        })
    }

    /// A time with its unit, nanoseconds; "0s" is one.
    pub fn time_ns(&self, key: &str) -> Result<u64, Wrong> {
        let Kind::Text(text) = &self.kind else {
            return Err(self.wrong(key, "write a time with its unit in quotes: \"250us\""));
        };
        let is_zero = ["0s", "0ms", "0us", "0ns"].contains(&text.trim());
        if is_zero {
            return Ok(0);
        }
        let us = value::time_us(text).map_err(|allowed| self.wrong(key, &allowed))?;
        let ns = us * 1e3;
        match ns <= TIME_NS_MAX as f64 {
            true => Ok(ns.round() as u64),
            false => Err(self.wrong(key, "write at most one day, \"24h\"")),
        }
    }

    /// A size with its unit, or a number of bytes.
    pub fn bytes(&self, key: &str, most: u64) -> Result<u64, Wrong> {
        let bytes = match &self.kind {
            Kind::Text(text) => {
                value::bytes(text).map_err(|allowed| self.wrong(key, &allowed))? as u64
            }
            _ => self.amount(key, most)?,
        };
        match bytes <= most {
            true => Ok(bytes),
            false => Err(self.wrong(key, &format!("write at most {most} bytes"))),
        }
    }

    /// CPUs: a list of numbers, one number, or the kernel's form in quotes.
    pub fn cpus(&self, key: &str) -> Result<CpuList, Wrong> {
        let allowed = "write CPU numbers from 0 to 8191: \"1-3,5\" or [1, 2, 3, 5]";
        let most = i64::from(artis_machine::cpulist::CPUS_MAX) - 1;
        let numbers = match &self.kind {
            Kind::Text(text) => {
                return text
                    .parse()
                    .map_err(|error| Wrong::new(self.at, format!("{key}: {error}")));
            }
            Kind::Whole(_) => std::slice::from_ref(self),
            Kind::List(numbers) => numbers,
            _ => return Err(self.wrong(key, allowed)),
        };
        let mut cpus = CpuList::new();
        for number in numbers {
            let number = number.whole(key, 0..=most)?;
            cpus.insert(u32::try_from(number).unwrap_or_default());
        }
        match cpus.is_empty() {
            true => Err(self.wrong(key, allowed)),
            false => Ok(cpus),
        }
    }
}

/// The last member of this name: where a key comes twice, the later one counts.
pub fn find<'a>(members: &'a [Member], key: &str) -> Option<&'a Value> {
    let found = members.iter().rev().find(|member| member.key == key);
    found.map(|member| &member.value)
}
