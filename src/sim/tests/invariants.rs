// SPDX-License-Identifier: GPL-2.0-only
//! What artis keeps whatever tasks may run where: no CPU is idle while somebody waits who may run
//! there, and weights, or RT1+ levels, divide what there is.
//!
//! What is right is the weighted max-min division (Bertsekas and Gallager, "Data Networks", 1992,
//! section 6.5): nobody's share grows but by making a smaller one smaller still. By Hall's theorem
//! a division is possible if no set of tasks has more than the CPUs on which one of them may run.

use super::*;
use crate::layout::Part;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const HALF_NS: u64 = 8 * SECOND;

/// A task that computes: on which CPUs, a bit each, and with what weight.
#[derive(Clone, Debug)]
struct Claim {
    mask: u32,
    policy: Policy,
    weight: f64,
}

fn is_possible(claims: &[Claim], parts: &[f64]) -> bool {
    (1_u32..1 << claims.len()).all(|set| {
        let members = (0..claims.len()).filter(|at| set >> at & 1 == 1);
        let (mask, sum) = members.fold((0_u32, 0.0), |(mask, sum), at| {
            (mask | claims[at].mask, sum + parts[at])
        });
        sum <= f64::from(mask.count_ones()) + 1e-9
    })
}

/// What each is to have, in CPUs.
fn division(claims: &[Claim]) -> Vec<f64> {
    let mut fixed: Vec<Option<f64>> = vec![None; claims.len()];
    while fixed.iter().any(Option::is_none) {
        let parts = |level: f64| -> Vec<f64> {
            let free = |at: usize| (level * claims[at].weight).min(1.0);
            (0..claims.len())
                .map(|at| fixed[at].unwrap_or_else(|| free(at)))
                .collect()
        };
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            match is_possible(claims, &parts(middle)) {
                true => low = middle,
                false => high = middle,
            }
        }
        // Who cannot have more by itself has its part.
        let at_level = parts(low);
        let before = fixed.clone();
        for at in 0..claims.len() {
            let mut more = at_level.clone();
            more[at] += 1e-6;
            if before[at].is_none() && (more[at] > 1.0 || !is_possible(claims, &more)) {
                fixed[at] = Some(at_level[at]);
            }
        }
    }
    fixed.into_iter().flatten().collect()
}

/// How many CPUs are busy at most.
fn busy(claims: &[Claim]) -> f64 {
    division(claims).iter().sum()
}

/// Tasks of one machine: how many CPUs it has, and which are RT.
#[derive(Clone, Debug)]
struct Set {
    cpus: u32,
    rt: &'static str,
    claims: Vec<Claim>,
}

fn sets(policies: impl Strategy<Value = Policy> + Clone) -> impl Strategy<Value = Set> {
    let machine = prop::sample::select(vec![(2, "1"), (4, "1,3"), (4, "3"), (4, "1-3")]);
    // All CPUs or one. Else who is to go where is a question of chains of moves.
    let mask = prop::sample::select(vec![15_u32, 15, 15, 15, 1, 2, 4, 8]);
    let claims = prop::collection::vec((mask, policies), 2..9);
    (machine, claims).prop_map(|((cpus, rt), claims)| {
        let claim = |(mask, policy): (u32, Policy)| Claim {
            mask: Some(mask & ((1 << cpus) - 1))
                .filter(|mask| *mask > 0)
                .unwrap_or(1),
            policy,
            weight: weight(policy),
        };
        Set {
            cpus,
            rt,
            claims: claims.into_iter().map(claim).collect(),
        }
    })
}

fn weight(policy: Policy) -> f64 {
    match policy {
        Policy::Other { nice } => crate::fair::weight(nice) as f64,
        Policy::Idle => 3.0,
        _ => 1.0,
    }
}

fn scenario_of(set: &Set) -> Scenario {
    let tasks = set.claims.iter().enumerate().map(|(at, claim)| {
        let may = |cpu: &u32| claim.mask >> cpu & 1 == 1;
        let cpus: Vec<String> = (0..set.cpus)
            .filter(may)
            .map(|cpu| cpu.to_string())
            .collect();
        with(hog(&format!("t{at}")), claim.policy, &cpus.join(","))
    });
    scenario(tasks.collect())
}

/// As the loader divides the caches of such a machine.
fn setup_of(set: &Set, end_ns: u64) -> Setup {
    let mut setup = lab(Scheduler::Artis, set.cpus, set.rt);
    setup.end_ns = end_ns;
    if set.cpus == 4 {
        let part = |cpus: &str, near| Part {
            cpus: cpus.parse().unwrap(),
            near,
        };
        setup.layout.parts = vec![part("0-1", vec![0, 1]), part("2-3", vec![1, 0])];
    }
    setup
}

/// What each has, and how much is idle; in CPUs. Of the second half: what the first moments gave
/// and took is over.
fn simulated(set: &Set) -> (Vec<f64>, f64) {
    let scenario = scenario_of(set);
    let half = run(&scenario, setup_of(set, HALF_NS));
    let whole = run(&scenario, setup_of(set, 2 * HALF_NS));
    let part = |whole: u64, half: u64| (whole - half) as f64 / HALF_NS as f64;
    let idle = whole.cpu_time.iter().zip(&half.cpu_time);
    let idle = idle
        .map(|(whole, half)| part(whole.idle_ns, half.idle_ns))
        .sum();
    let tasks = whole.tasks.iter().zip(&half.tasks);
    let has = tasks.map(|(whole, half)| part(whole.cpu_ns, half.cpu_ns));
    (has.collect(), idle)
}

/// Nobody has less than so much of what is right: a task that may use more CPUs than others that
/// wait with it is not always where the fewest do.
fn has_most(set: &Set, part: f64) -> Result<(), TestCaseError> {
    let (has, _) = simulated(set);
    let right = division(&set.claims);
    let mut both = has.iter().zip(&right);
    let wrong = both.any(|(has, right)| *has < part * right - SLACK);
    prop_assert!(!wrong, "{has:.3?} in place of {right:.3?}: {set:?}");
    Ok(())
}

/// In CPUs: what ticks 4 ms apart may change.
const SLACK: f64 = 0.04;

proptest! {
    #![proptest_config(rounds())]

    #[test]
    fn weights_divide_what_masks_leave(
        set in sets((-8_i8..9).prop_map(|nice| Policy::Other { nice })),
    ) {
        has_most(&set, 0.5)?;
    }

    #[test]
    fn equal_levels_divide_what_masks_leave(set in sets(Just(Policy::Ext { nice: 0 }))) {
        has_most(&set, 0.5)?;
    }

    /// The first level has all that it may use, as if nobody else were there, and but for what a
    /// long wait gives to lower ones.
    #[test]
    fn the_first_level_comes_first(
        set in sets(prop_oneof![Just(Policy::Ext { nice: -20 }), Just(Policy::Ext { nice: 19 })]),
    ) {
        let is_first = |claim: &Claim| claim.policy == Policy::Ext { nice: -20 };
        let (has, _) = simulated(&set);
        let all = set.claims.iter().zip(&has);
        let first = all.filter(|(claim, _)| is_first(claim));
        let (first, has_first): (Vec<Claim>, Vec<f64>) =
            first.map(|(claim, has)| (claim.clone(), has)).unzip();
        let sum: f64 = has_first.iter().sum();
        prop_assert!(sum >= 0.95 * busy(&first), "{has:.3?}: {set:?}");
    }

    #[test]
    fn no_cpu_is_idle_while_somebody_waits_for_it(
        set in sets(prop_oneof![
            (-5_i8..6).prop_map(|nice| Policy::Other { nice }),
            (-3_i8..4).prop_map(|nice| Policy::Ext { nice }),
        ]),
    ) {
        let (has, idle) = simulated(&set);
        let right = f64::from(set.cpus) - busy(&set.claims);
        prop_assert!(idle <= right + SLACK, "{idle:.3} idle for {right:.3}, {has:.3?}: {set:?}");
    }

    /// The kernel's watchdog ends a scheduler after 30 s.
    #[test]
    fn nobody_waits_for_ever(
        set in sets(prop_oneof![
            3 => (-20_i8..20).prop_map(|nice| Policy::Other { nice }),
            1 => Just(Policy::Idle),
            3 => (-20_i8..20).prop_map(|nice| Policy::Ext { nice }),
        ]),
    ) {
        let outcome = run(&scenario_of(&set), setup_of(&set, 24 * SECOND));
        let longest = outcome.tasks.iter().map(|task| task.waited_ns_max).max();
        prop_assert!(longest <= Some(12 * SECOND), "{longest:?}: {set:?}");
    }
}

/// The same few rounds in each `make test`. In `make soak` others each time, a thousand for each
/// time that it is longer.
fn rounds() -> ProptestConfig {
    let soak = std::env::var("ARTIS_SOAK").ok();
    let times = soak.and_then(|times| times.parse::<u32>().ok());
    ProptestConfig {
        failure_persistence: None,
        rng_seed: times.map_or(RngSeed::Fixed(1), |_| RngSeed::Random),
        ..ProptestConfig::with_cases(times.map_or(16, |times| 1000 * times))
    }
}

#[test]
fn a_division_is_the_books() {
    let claim = |mask, weight| Claim {
        mask,
        policy: Policy::Idle,
        weight,
    };
    let close = |has: Vec<f64>, right: &[f64]| {
        assert!(
            has.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-3),
            "{has:?}"
        );
    };
    close(division(&[claim(1, 1.0), claim(1, 3.0)]), &[0.25, 0.75]);
    close(division(&[claim(3, 1.0)]), &[1.0]);
    close(
        division(&[claim(1, 1.0), claim(1, 1.0), claim(3, 1.0)]),
        &[0.5, 0.5, 1.0],
    );
    close(
        division(&[claim(1, 1.0), claim(3, 1.0), claim(3, 1.0)]),
        &[2.0 / 3.0; 3],
    );
}
