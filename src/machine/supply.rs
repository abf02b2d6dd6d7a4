// SPDX-License-Identifier: GPL-2.0-only
//! Whether the machine runs on a battery now.
//!
//! Source: `Documentation/ABI/testing/sysfs-class-power`.

use super::{Root, Unreadable};

const FOLDER: &str = "/sys/class/power_supply";

/// Whether a battery of the machine itself is being emptied; none where it has none.
///
/// # Errors
/// When the folder cannot be listed.
pub fn on_battery(root: &Root) -> Result<Option<bool>, Unreadable> {
    let mut found = None;
    for name in root.names(FOLDER)? {
        let is = |file: &str, value: &str| {
            root.hint(format!("{FOLDER}/{name}/{file}"))
                .is_some_and(|text| text == value)
        };
        // A mouse has one, too, whose scope is its own device.
        if is("type", "Battery") && !is("scope", "Device") {
            found = Some(found.unwrap_or(false) || is("status", "Discharging"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn only_batteries_of_the_machine_count() {
        for (files, expected) in [
            (&[][..], None),
            (&[("AC/type", "Mains"), ("AC/online", "1")], None),
            (&[("m/type", "Battery"), ("m/scope", "Device")], None),
            (&[("B/type", "Battery"), ("B/status", "Full")], Some(false)),
            (
                &[("B/type", "Battery"), ("B/status", "Discharging")],
                Some(true),
            ),
        ] {
            let files: Vec<(String, &str)> = files
                .iter()
                .map(|(file, text)| (format!("{}/{file}", &FOLDER[1..]), *text))
                .collect();
            let files: Vec<(&str, &str)> = files.iter().map(|(f, t)| (f.as_str(), *t)).collect();
            let (_folder, root) = canned(&files);
            assert_eq!(on_battery(&root).unwrap(), expected, "{files:?}");
        }
    }
}
