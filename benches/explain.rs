// SPDX-License-Identifier: GPL-2.0-only
//! What watching costs: the wakeups of a 1 kHz real-time thread and the work of two loads, with the
//! flight recorder of `artis explain` and without it, in turns. Prints ratios; judges nothing,
//! since the bars of docs/explain.md are counted in the emulator, where two runs are alike.

use artis::machine::CpuList;
use artis::recorder::{Recorder, Settings, Storage, Watched};
use artis::task::syscall;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const TURNS: usize = 10;
const SAMPLES: usize = 2000;
const PERIOD_NS: u64 = 1_000_000;
const PRIORITY: i32 = 98;
/// As often as `artis explain` looks at its recorder.
const LOOK: Duration = Duration::from_millis(20);

/// The figures of one slice: ns, and the loads' rounds in a second.
#[derive(Clone, Copy)]
struct Slice {
    mean: f64,
    p50: f64,
    p99: f64,
    max: f64,
    work: f64,
}

/// A column: its head, and its figure.
type Column = (&'static str, fn(&Slice) -> f64);

const COLUMNS: [Column; 5] = [
    ("mean", |slice| slice.mean),
    ("p50", |slice| slice.p50),
    ("p99", |slice| slice.p99),
    ("max", |slice| slice.max),
    ("work/s", |slice| slice.work),
];

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<(), String> {
    let cpus = syscall::affinity(0).map_err(|errno| errno.to_string())?;
    let measured = cpus.last().ok_or("there is no CPU")?;
    println!(
        "CPU {measured}, {TURNS} turns of {SAMPLES} samples, SCHED_FIFO {PRIORITY}, 1 kHz, a load on \
         each CPU; ns"
    );
    println!("turn  recorder       mean       p50       p99       max    work/s");
    let mut slices = [Vec::new(), Vec::new()];
    for turn in 1..=TURNS {
        // The second run finds the machine as the first one left it: each is first in turn.
        let order = if turn % 2 == 0 {
            [true, false]
        } else {
            [false, true]
        };
        for recorded in order {
            let slice = slice(&cpus, measured, recorded)?;
            let name = if recorded { "on" } else { "off" };
            print!("{turn:4}  {name:<8}");
            COLUMNS
                .iter()
                .for_each(|(_, of)| print!("  {:8.0}", of(&slice)));
            println!();
            slices[usize::from(recorded)].push(slice);
        }
    }
    for (name, of) in COLUMNS {
        let ratios: Vec<f64> = slices[1]
            .iter()
            .zip(&slices[0])
            .map(|(on, off)| of(on) / of(off))
            .collect();
        let (low, high) = (sorted(&ratios)[0], sorted(&ratios)[ratios.len() - 1]);
        println!(
            "{name:<6} with the recorder: {:.3} times that without (median of {TURNS} turns, {low:.3} to \
             {high:.3})",
            sorted(&ratios)[ratios.len() / 2]
        );
    }
    Ok(())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn slice(cpus: &CpuList, measured: u32, recorded: bool) -> Result<Slice, String> {
    let settings = Settings {
        worst: 10,
        threshold_ns: 0,
        until_ns: None,
    };
    let mut storage = Storage::uninit();
    let mut recorder = match recorded {
        true => Some(Recorder::load(&mut storage, settings).map_err(|error| error.to_string())?),
        false => None,
    };
    let (tid, done, work) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let (mut late, seconds) = std::thread::scope(|scope| {
        let (done, work) = (&done, &work);
        for cpu in cpus.iter() {
            scope.spawn(move || load(cpu, done, work));
        }
        let sampler = scope.spawn(|| sample(measured, &tid));
        while !sampler.is_finished() {
            let watched = tid.swap(0, Relaxed);
            if let Some(recorder) = &mut recorder {
                if watched != 0 {
                    // There is room for one.
                    let _ = recorder.watch(&Watched::Thread(watched));
                }
                recorder.poll();
            }
            std::thread::sleep(LOOK);
        }
        done.store(true, Relaxed);
        (sampler.join(), began.elapsed().as_secs_f64())
    });
    let late = late
        .as_mut()
        .map_err(|_| "the sampler failed".to_owned())?
        .as_mut()
        .map_err(|why| why.clone())?;
    late.sort_unstable();
    let at = |share: usize| late[(late.len() - 1) * share / 100] as f64;
    Ok(Slice {
        mean: late.iter().sum::<u64>() as f64 / late.len() as f64,
        p50: at(50),
        p99: at(99),
        max: at(100),
        work: work.load(Relaxed) as f64 / seconds,
    })
}

/// How late each wakeup was, ns.
fn sample(cpu: u32, tid: &AtomicU32) -> Result<Vec<u64>, String> {
    bind(cpu);
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the parameters are alive.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } != 0 {
        return Err("SCHED_FIFO is not permitted; run the bench as root".to_owned());
    }
    tid.store(nix::unistd::gettid().as_raw().cast_unsigned(), Relaxed);
    let mut late = Vec::with_capacity(SAMPLES);
    // The first ones go by until the recorder knows the thread.
    let mut due_ns = now_ns() + 100 * PERIOD_NS;
    while late.len() < SAMPLES {
        let time = TimeSpec::from_duration(Duration::from_nanos(due_ns));
        let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &time);
        late.push(now_ns().saturating_sub(due_ns));
        due_ns = (due_ns + PERIOD_NS).max(now_ns());
    }
    Ok(late)
}

/// Writes to a pipe and reads from it: short system calls.
fn load(cpu: u32, done: &AtomicBool, work: &AtomicU64) {
    bind(cpu);
    let Ok((mut from, mut to)) = std::io::pipe() else {
        return;
    };
    let mut bytes = [0; 512];
    while !done.load(Relaxed) {
        if to.write_all(&bytes).is_err() || from.read_exact(&mut bytes).is_err() {
            return;
        }
        work.fetch_add(1, Relaxed);
    }
}

fn bind(cpu: u32) {
    // A thread that may not be bound measures where it is.
    let _ = syscall::set_affinity(0, &CpuList::from_iter([cpu]));
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}
