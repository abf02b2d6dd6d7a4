// SPDX-License-Identifier: GPL-2.0-only
//! The worked examples of the pages that boot a virtual machine.

use crate::common::artis;
use crate::common::pages::{examples, pages};

#[test]
fn the_worked_examples_in_guests_print_what_the_pages_say() {
    let mut checked = 0;
    for page in pages() {
        for example in examples(&page).iter().filter(|example| example.guest) {
            example.check(&artis());
            checked += 1;
        }
    }
    assert_ne!(checked, 0);
}
