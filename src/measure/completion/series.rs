// SPDX-License-Identifier: GPL-2.0-only
//! Completion times as the series of a result, three for each unit.

use super::{Samples, Times};
use artis_result::unit_of_work::{Part, UnitOfWork};
use artis_result::{Distribution, Kind, Series, Unit};

/// The series of all units; those that were never done are left out.
pub fn series(cpu: u32, samples: &Samples) -> Vec<Series> {
    let done = samples.times.iter().filter(|one| one.work.count() > 0);
    done.flat_map(|one| of_unit(cpu, one)).collect()
}

fn of_unit(cpu: u32, times: &Times) -> [Series; 3] {
    let series = |part, kind, values: &Distribution| {
        let unit = UnitOfWork {
            part,
            nature: times.nature,
            length_us: times.length_us,
        };
        Series {
            cpu: Some(cpu),
            ..Series::new(&unit.to_string(), kind, Unit::Nanoseconds, values.clone())
        }
    };
    [
        series(Part::Start, Kind::Latency, &times.start),
        series(Part::Work, Kind::ExecutionTime, &times.work),
        series(Part::Completion, Kind::Duration, &times.completion),
    ]
}
