// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against a measurement, on stderr: one block a warning.

use crate::machine::Root;
use crate::measure::audit::{Audit, Plan, Samples};
use crate::result::{Document, Warning};

/// Begins the audit of a measurement, and prints what is known already: worth telling before
/// hours of measuring.
pub(super) fn begin(plan: &Plan) -> Audit {
    let audit = Audit::before(&Root::default(), plan);
    print(audit.found());
    audit
}

/// Ends it: puts all that was found into the document, `more` last, and prints what is new.
pub(super) fn conclude(
    document: &mut Document,
    audit: Audit,
    samples: &[Samples],
    more: Vec<Warning>,
) {
    let known = audit.found().len();
    let mut found = audit.after(&Root::default(), samples);
    found.extend(more);
    print(&found[known..]);
    document.audit.append(&mut found);
}

/// Prints what was found.
fn print(warnings: &[Warning]) {
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
