// SPDX-License-Identifier: GPL-2.0-only
//! How hot the machine is, and how often heat made its CPUs slower.
//!
//! Source: `Documentation/driver-api/thermal/sysfs-api.rst`;
//! `Documentation/admin-guide/thermal/intel_powerclamp.rst` and
//! `arch/x86/kernel/cpu/mce/therm_throt.c` for the counters, which x86 alone has.

use super::{CpuList, Root, Unreadable};

const ZONES: &str = "/sys/class/thermal";
/// A CPU counts for itself and for its package.
const COUNTERS: [&str; 2] = ["core_throttle_count", "package_throttle_count"];
/// Trip points at which the kernel makes the machine slower.
const SLOWS: [&str; 3] = ["passive", "hot", "critical"];

/// The zone that is nearest to where it slows the machine down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    pub kind: String,
    pub milli_celsius: i64,
    /// Where it slows down; none where the zone does not say.
    pub limit_milli_celsius: Option<i64>,
}

impl Zone {
    /// How far it is from its limit; what has none is farthest.
    fn left(&self) -> i64 {
        let limit = self.limit_milli_celsius;
        limit.map_or(i64::MAX, |limit| limit.saturating_sub(self.milli_celsius))
    }

    pub fn is_over(&self) -> bool {
        self.left() <= 0
    }
}

/// The hottest zone by its own limit; none where the machine has no sensor.
///
/// # Errors
/// When the folder cannot be listed.
pub fn hottest(root: &Root) -> Result<Option<Zone>, Unreadable> {
    let names = root.names(ZONES)?.into_iter();
    let zones = names.filter(|name| name.starts_with("thermal_zone"));
    let all = zones.filter_map(|name| zone(root, &format!("{ZONES}/{name}")));
    Ok(all.min_by_key(|zone| (zone.left(), -zone.milli_celsius)))
}

/// A sensor that cannot be read now (`EAGAIN`, `ENODATA`) says nothing.
fn zone(root: &Root, folder: &str) -> Option<Zone> {
    let milli_celsius = root.hint(format!("{folder}/temp"))?.parse().ok()?;
    let limits = (0..12).filter_map(|point| {
        let kind = root.hint(format!("{folder}/trip_point_{point}_type"))?;
        let limit: i64 = root
            .hint(format!("{folder}/trip_point_{point}_temp"))?
            .parse()
            .ok()?;
        // Points that are switched off stand at 0 or far below it.
        (SLOWS.contains(&kind.as_str()) && limit > 0).then_some(limit)
    });
    Some(Zone {
        kind: root.hint(format!("{folder}/type")).unwrap_or_default(),
        milli_celsius,
        limit_milli_celsius: limits.min(),
    })
}

/// How often heat made any of these CPUs slower since boot; none where nothing counts it.
///
/// # Errors
/// When a counter cannot be read or understood.
pub fn throttled(root: &Root, cpus: &CpuList) -> Result<Option<u64>, Unreadable> {
    let mut sum = None;
    for cpu in cpus.iter() {
        for counter in COUNTERS {
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{counter}");
            if let Some(count) = root.number::<u64>(file)? {
                sum = Some(sum.unwrap_or(0_u64).saturating_add(count));
            }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_zone_nearest_to_its_limit_is_named() {
        let (_folder, root) = canned(&[
            ("sys/class/thermal/thermal_zone0/temp", "50000\n"),
            ("sys/class/thermal/thermal_zone0/type", "acpitz\n"),
            ("sys/class/thermal/thermal_zone1/temp", "48000\n"),
            ("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n"),
            (
                "sys/class/thermal/thermal_zone1/trip_point_0_type",
                "passive\n",
            ),
            (
                "sys/class/thermal/thermal_zone1/trip_point_0_temp",
                "47000\n",
            ),
            (
                "sys/class/thermal/thermal_zone1/trip_point_1_type",
                "active\n",
            ),
            (
                "sys/class/thermal/thermal_zone1/trip_point_1_temp",
                "20000\n",
            ),
            ("sys/class/thermal/thermal_zone2/temp", "damaged\n"),
        ]);
        let zone = hottest(&root).unwrap().unwrap();
        assert_eq!(zone.kind, "x86_pkg_temp");
        assert_eq!(zone.limit_milli_celsius, Some(47_000));
        assert!(zone.is_over());
    }

    #[test]
    fn counters_are_added_and_their_absence_is_said() {
        let cpus = "0-1".parse().unwrap();
        let (_folder, root) = canned(&[]);
        assert_eq!(throttled(&root, &cpus).unwrap(), None);
        assert_eq!(hottest(&root).unwrap(), None);
        let file = |cpu, name| format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
        let (_folder, root) = canned(&[
            (&file(0, "core_throttle_count"), "2\n"),
            (&file(1, "package_throttle_count"), "3\n"),
        ]);
        assert_eq!(throttled(&root, &cpus).unwrap(), Some(5));
    }
}
