// SPDX-License-Identifier: GPL-2.0-only
//! The order of Debian versions, as dpkg defines it: `1.0~bpo` comes before `1.0`.
//!
//! dpkg itself compares them. Its rules (epochs, tildes, digits against letters) are easy to get
//! nearly right, and every system with apt has dpkg.

use crate::Error;
use crate::host::tool;
use std::cmp::Ordering;
use std::process::Command;

/// Compares two Debian version strings.
///
/// # Errors
/// When dpkg cannot be run.
pub fn compare(left: &str, right: &str) -> Result<Ordering, Error> {
    if left == right {
        return Ok(Ordering::Equal);
    }
    for (relation, ordering) in [("lt", Ordering::Less), ("gt", Ordering::Greater)] {
        let mut dpkg = Command::new(tool::find("dpkg", "dpkg")?);
        dpkg.args(["--compare-versions", left, relation, right]);
        let status = dpkg.status().map_err(|error| Error::Program {
            program: "dpkg --compare-versions".to_owned(),
            reason: error.to_string(),
        })?;
        if status.success() {
            return Ok(ordering);
        }
    }
    Ok(Ordering::Equal)
}

/// Sorts `items` by the version that `version_of` gives, oldest first; equal ones keep their order.
///
/// # Errors
/// When dpkg cannot be run.
pub fn sort<T>(items: &mut [T], version_of: impl Fn(&T) -> &str) -> Result<(), Error> {
    let mut failed = None;
    items.sort_by(|left, right| {
        compare(version_of(left), version_of(right)).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Ordering::Equal
        })
    });
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_follow_dpkgs_order() {
        let mut versions = vec![
            "7.3.4-1",
            "7.2.13-1",
            "7.3.4-1~bpo13+1",
            "6.18.15-1~bpo13+1",
            "1:1.0-1",
        ];
        sort(&mut versions, |version| version).unwrap();
        assert_eq!(
            versions,
            [
                "6.18.15-1~bpo13+1",
                "7.2.13-1",
                "7.3.4-1~bpo13+1",
                "7.3.4-1",
                "1:1.0-1"
            ]
        );
    }
}
