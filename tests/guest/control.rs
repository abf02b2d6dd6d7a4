// SPDX-License-Identifier: GPL-2.0-only
//! A control loop that asks to be admitted: `control CPU BUDGET_US`. It ends with 2 when it is
//! refused; admitted, after 20 periods of 1 ms.

use artis_program::{Answer, Task, leave};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<ExitCode> {
    let mut words = std::env::args().skip(1);
    let cpu = words.next().and_then(|word| word.parse().ok());
    let budget_us = words.next().and_then(|word| word.parse().ok());
    let period = Duration::from_millis(1);
    let task = Task {
        period,
        budget: Duration::from_micros(budget_us.unwrap_or(200)),
        cpu,
        ..Task::default()
    };
    match task.admit()? {
        Answer::Admitted => println!("admitted"),
        Answer::Refused(why) | Answer::Unknown(why) => {
            eprintln!("{why}");
            return Ok(ExitCode::from(2));
        }
    }
    let mut next = Instant::now();
    for _ in 0..20 {
        next += period;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        // Here a job does its work.
    }
    leave()?;
    println!("left");
    Ok(ExitCode::SUCCESS)
}
