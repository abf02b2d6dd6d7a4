// SPDX-License-Identifier: GPL-2.0-only
//! TOML as the tree that rt-app's files are read into, too.

use super::super::place::Wrong;
use super::super::tree::{Kind, Member, VALUES_MAX, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The tree of a text.
pub fn parse(text: &str) -> Result<Value, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let words = error.message().replace('\n', ", ");
        Wrong::new(at, format!("this is not TOML: {words}"))
    })?;
    let at = table.span().start;
    let mut left = VALUES_MAX;
    let kind = members(table.get_ref(), &mut left)?;
    Ok(Value { at, kind })
}

fn members(table: &DeTable, left: &mut usize) -> Result<Kind, Wrong> {
    let members = table.iter().map(|(key, value)| {
        Ok(Member {
            key: key.get_ref().to_string(),
            at: key.span().start,
            value: self::value(value, left)?,
        })
    });
    Ok(Kind::Object(members.collect::<Result<_, Wrong>>()?))
}

fn value(value: &Spanned<DeValue>, left: &mut usize) -> Result<Value, Wrong> {
    let at = value.span().start;
    *left = left
        .checked_sub(1)
        .ok_or_else(|| Wrong::new(at, format!("the file has more than {VALUES_MAX} values")))?;
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Integer(number) => {
            let whole = i64::from_str_radix(number.as_str(), number.radix());
            Kind::Whole(whole.map_err(|_| {
                Wrong::new(at, format!("{number} is too large; write a smaller number"))
            })?)
        }
        DeValue::Float(number) => Kind::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(it) => Kind::Bool(*it),
        DeValue::Datetime(_) => {
            return Err(Wrong::new(
                at,
                "a date does not fit here; write a time in quotes",
            ));
        }
        DeValue::Array(values) => {
            let values = values.iter().map(|it| self::value(it, left));
            Kind::List(values.collect::<Result<_, Wrong>>()?)
        }
        DeValue::Table(table) => members(table, left)?,
    };
    Ok(Value { at, kind })
}
