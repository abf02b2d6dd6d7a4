// SPDX-License-Identifier: GPL-2.0-only
//! A throughput measurement as the series of a result.

use super::Run;
use super::permutation::Setting;
use artis_result::runs::distributions;
use artis_result::{Kind, Series, Unit};

/// The series of all settings, each named after its setting.
pub fn series(settings: &[Setting], measured: &[Vec<Run>]) -> Vec<Series> {
    let mut all = Vec::new();
    for (setting, runs) in settings.iter().zip(measured) {
        for (name, kind, distribution) in distributions(runs) {
            let unit = match kind {
                Kind::Count => Unit::Count,
                _ => Unit::Nanoseconds,
            };
            let name = format!("{name}{}", setting.suffix());
            all.push(Series::new(&name, kind, unit, distribution));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_setting_has_series_of_its_own() {
        let run = Run {
            real: Duration::from_secs(1),
            user: Duration::from_secs(2),
            system: Duration::from_millis(500),
            voluntary_switches: 7,
            involuntary_switches: 3,
        };
        let longer = Run {
            real: Duration::from_secs(2),
            ..run
        };
        let settings = Setting::ten(&"0-1".parse().unwrap()).unwrap();
        let all = series(&settings, &vec![vec![run, longer]; settings.len()]);
        assert_eq!(all.len(), 50);
        let real: Vec<_> = all
            .iter()
            .filter(|one| one.name == "real_fifo_cpus2_x4")
            .collect();
        assert_eq!(real.len(), 1);
        assert_eq!(real[0].distribution.moments().unwrap().mean, 1.5e9);
        assert!(distributions(&[]).is_empty());
    }
}
