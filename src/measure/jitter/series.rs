// SPDX-License-Identifier: GPL-2.0-only
//! A jitter measurement as the series of a result.

use super::{Plan, Samples};
use artis_result::names::{LOST, NOISE, PIECE_UNLOADED, ROUND, SLOWEST};
use artis_result::{Distribution, Kind, Series, Unit};

/// The series of all rounds, and those of each thread.
pub fn series(plan: &Plan, unloaded: &Samples, loaded: &Samples) -> Vec<Series> {
    let whole = |name, kind, values: &Distribution| {
        Series::new(name, kind, Unit::Nanoseconds, values.clone())
    };
    let mut all = vec![
        Series {
            max_at_s: Some(loaded.rounds.max_at_s),
            ..whole(ROUND, Kind::Duration, &loaded.rounds.time)
        },
        whole(LOST, Kind::Noise, &loaded.rounds.lost),
    ];
    for (index, cpu) in plan.cpus.iter().enumerate() {
        let of_thread = |series| Series {
            cpu: Some(*cpu),
            thread: u32::try_from(index).ok(),
            ..series
        };
        let mut slowest = Distribution::new();
        slowest.record(loaded.rounds.slowest[index].cast_signed());
        all.push(of_thread(whole(NOISE, Kind::Noise, &loaded.pieces[index])));
        all.push(of_thread(Series::new(
            SLOWEST,
            Kind::Count,
            Unit::Count,
            slowest,
        )));
        all.push(of_thread(whole(
            PIECE_UNLOADED,
            Kind::ExecutionTime,
            &unloaded.pieces[index],
        )));
    }
    all
}
