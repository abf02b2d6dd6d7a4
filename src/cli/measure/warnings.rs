// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against a measurement, on stderr: one block a warning.

use crate::result::Warning;

/// Prints what was found.
pub(super) fn print(warnings: &[Warning]) {
    for warning in warnings {
        eprint!("{}", block(warning));
    }
}

fn block(warning: &Warning) -> String {
    let mut text = format!(
        "artis: warning: {}: {}\n  why:  {}\n",
        warning.id, warning.seen, warning.why
    );
    if let Some(mend) = &warning.mend {
        text += &format!("  mend: {mend}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_line_for_each_part() {
        let mut warning = Warning {
            id: "memory".to_owned(),
            seen: "it is not locked".to_owned(),
            why: "page faults".to_owned(),
            mend: Some("run artis with sudo".to_owned()),
        };
        assert_eq!(
            block(&warning),
            "artis: warning: memory: it is not locked\n  why:  page faults\n  mend: run artis with \
             sudo\n"
        );
        warning.mend = None;
        assert_eq!(block(&warning).lines().count(), 2);
    }
}
