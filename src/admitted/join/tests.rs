// SPDX-License-Identifier: GPL-2.0-only
//! What joining decides, without threads: those of this machine are in `tests/host/run`.

use super::*;
use crate::entry::tests::task;
use artis_admit::model::Tick;
use proptest::prelude::*;

fn request(cpus: &[u32], execution_ns: u64, period_ns: u64) -> Request {
    Request {
        tid: 7,
        name: "new".to_owned(),
        numbers: task(7, execution_ns, period_ns).numbers,
        cpus: cpus.to_vec(),
        policy: None,
        platform: None,
        on_overrun: None,
        force: false,
    }
}

/// Two of Liu and Layland's kind on CPU 1: 2 of 5 and 4 of 10.
fn register(policy: Policy) -> Register {
    let mut register = Register::default();
    let mut of_cpu = OfCpu::new(1, policy);
    of_cpu.tasks = vec![task(1, 2_000, 5_000), task(2, 4_000, 10_000)];
    register.put(of_cpu);
    register
}

fn chosen(register: &Register, request: &Request) -> Result<(u32, Verdict), Error> {
    let entry = task(7, request.numbers.execution_ns, request.numbers.period_ns);
    let (of_cpu, answer) = choose(register, request, &entry)?;
    Ok((of_cpu.cpu, answer.verdict))
}

#[test]
fn the_first_cpu_that_fits_is_taken_and_else_the_first_is_said() {
    let register = register(Policy::Rm);
    let small = request(&[1, 2], 100, 1_000);
    assert_eq!(
        chosen(&register, &small).unwrap(),
        (1, Verdict::Schedulable)
    );
    let large = request(&[1, 2], 300, 1_000);
    assert_eq!(
        chosen(&register, &large).unwrap(),
        (2, Verdict::Schedulable)
    );
    let nowhere = request(&[1], 300, 1_000);
    assert_eq!(chosen(&register, &nowhere).unwrap(), (1, Verdict::Refused));
}

#[test]
fn a_cpu_has_one_policy() {
    let register = register(Policy::Rm);
    let edf = Request {
        policy: Some(Policy::Edf),
        ..request(&[1], 100, 1_000)
    };
    let error = chosen(&register, &edf).unwrap_err().to_string();
    assert!(error.contains("say --policy rm"), "{error}");
    let other = Request {
        cpus: vec![1, 3],
        ..edf
    };
    assert_eq!(
        chosen(&register, &other).unwrap(),
        (3, Verdict::Schedulable)
    );
}

#[test]
fn numbers_that_contradict_each_other_are_an_error() {
    let mut wrong = request(&[1], 100, 1_000);
    wrong.numbers.section_ns = 200;
    let entry = Admitted {
        numbers: wrong.numbers.clone(),
        ..task(7, 100, 1_000)
    };
    let found = choose(&Register::default(), &wrong, &entry);
    assert!(matches!(found, Err(Error::Model(_))), "{found:?}");
}

#[test]
fn a_reservation_has_room_for_what_the_kernel_charges() {
    let mut of_cpu = OfCpu::new(1, Policy::Edf);
    let mut one = task(1, 200_000, 1_000_000);
    let same = Reservation {
        runtime_ns: 200_000,
        deadline_ns: 1_000_000,
        period_ns: 1_000_000,
    };
    assert_eq!(reservation_of(&of_cpu, &one), same);
    of_cpu.platform = Platform {
        wakeup_ns: 50_000,
        switch_ns: 1_000,
        tick: Some(Tick {
            period_ns: 100_000,
            length_ns: 5_000,
            phase_ns: 0,
        }),
        ..Platform::default()
    };
    one.numbers.jitter_ns = 20_000;
    let found = reservation_of(&of_cpu, &one);
    // 200 and two switches, and the three ticks that may come in 217 us.
    assert_eq!(found.runtime_ns, 217_000);
    assert_eq!(found.deadline_ns, 930_000);
    // One that was forced in asks for no more than there is.
    let all = reservation_of(&of_cpu, &task(1, 2_000_000, 1_000_000));
    assert_eq!((all.runtime_ns, all.deadline_ns), (1_000_000, 1_000_000));
}

proptest! {
    /// Priorities before and after, both in one order: at no moment are two equal or crossed.
    #[test]
    fn moved_threads_keep_their_order_at_every_moment(
        before in prop::collection::btree_set(1..99_u8, 2..8),
        after in prop::collection::btree_set(1..99_u8, 8..9),
    ) {
        let from: Vec<u8> = before.into_iter().collect();
        let to: Vec<u8> = after.into_iter().take(from.len()).collect();
        let moves = from.iter().zip(&to).enumerate();
        let moves = moves.filter(|(_, (from, to))| from != to).map(|(at, (from, to))| Move {
            tid: at as i32,
            name: String::new(),
            from: *from,
            to: *to,
        });
        let mut now = from.clone();
        for one in ordered(moves.collect()) {
            now[one.tid as usize] = one.to;
            prop_assert!(now.windows(2).all(|two| two[0] < two[1]), "{from:?} {to:?} {now:?}");
        }
        prop_assert_eq!(now, to);
    }
}
