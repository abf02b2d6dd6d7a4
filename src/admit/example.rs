// SPDX-License-Identifier: GPL-2.0-only
//! A file of tasks to start from.

/// What `artis admit --example` prints: every key, with what it means.
pub const EXAMPLE: &str = include_str!("example.toml");

#[cfg(test)]
mod tests {
    use super::EXAMPLE;
    use crate::{Set, Verdict, admit};

    #[test]
    fn the_example_is_admitted() {
        let answer = admit(&Set::parse(EXAMPLE).unwrap());
        assert_eq!(answer.verdict, Verdict::Schedulable, "{answer:#?}");
    }
}
