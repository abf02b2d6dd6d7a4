// SPDX-License-Identifier: GPL-2.0-only
//! What is below the kernel: hypervisor, firmware, clock, and the CPU's security holes.

use super::finding::{Finding, Severity, few};
use super::subject::Subject;
use artis_machine::clock_source;
use artis_machine::cpu_times::CpuTimes;
use artis_machine::facts::Facts;

/// System management interrupts that occur more often than this are not only those of the boot.
const SMI_PERIOD_S: u64 = 3600;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let all = [
        virtual_machine(facts),
        steal(facts, subject),
        clock(facts),
        smis(facts),
        mitigations(facts),
    ];
    all.into_iter().flatten().collect()
}

fn virtual_machine(facts: &Facts) -> Option<Finding> {
    let name = facts.virtualisation.get()?;
    Some(Finding {
        id: "virtual_machine",
        severity: Severity::Breaks,
        seen: format!("this is a virtual machine (hypervisor: {name})"),
        evidence: facts.virtualisation.from.clone(),
        why:
            "the host can take its CPUs away at any time, and timers and interrupts go through the \
              hypervisor: deadlines here can only be as safe as the host's scheduling"
                .to_owned(),
        source: "McKenney, Real Time vs. Real Fast, section 5, principle 4",
        fix: Some(
            "run real-time work on the real machine; or give each virtual CPU its own host CPU, on a \
             real-time host"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn percent(times: &CpuTimes) -> f64 {
    times.steal as f64 * 100.0 / times.total().max(1) as f64
}

fn steal(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let times = facts.cpu_times.get()?;
    let (cpu, most) = subject
        .cpus
        .iter()
        .filter_map(|cpu| Some((cpu, times.get(&cpu)?)))
        .filter(|(_, times)| times.steal > 0)
        .max_by(|one, other| percent(one.1).total_cmp(&percent(other.1)))?;
    Some(Finding {
        id: "steal_time",
        severity: Severity::Worsens,
        seen: format!(
            "the host ran something else while CPU {cpu} was ready to run: {:.2} s since boot, \
             {:.2} % of its time",
            most.steal as f64 / 100.0,
            percent(most)
        ),
        evidence: facts.cpu_times.from.clone(),
        why: "everything that was due meanwhile was late, and nothing inside this machine can help"
            .to_owned(),
        source: "Documentation/filesystems/proc.rst (steal)",
        fix: Some("on the host: pin each virtual CPU to its own CPU".to_owned()),
        partition_fixes: &[],
    })
}

fn clock(facts: &Facts) -> Option<Finding> {
    let clock = facts.clock.get()?;
    let current = clock.current.as_str();
    if clock_source::is_cpu_counter(current) {
        return None;
    }
    let ticks = ["jiffies", "refined-jiffies"].contains(&current);
    let better = clock
        .available
        .iter()
        .find(|name| clock_source::is_cpu_counter(name));
    let fix = better.map_or_else(
        || "`dmesg | grep -i tsc` shows why the kernel does not use the CPU's counter".to_owned(),
        |better| format!("`echo {better} | sudo tee {}`", clock_source::FILE),
    );
    Some(Finding {
        id: "clock_source",
        severity: if ticks {
            Severity::Breaks
        } else {
            Severity::Worsens
        },
        seen: format!("the clock source is {current}"),
        evidence: facts.clock.from.clone(),
        why: if ticks {
            "time has only the resolution of the tick, and so have timers"
        } else {
            "reading the time needs a device outside the CPU: up to microseconds each, in system \
             calls and timers too"
        }
        .to_owned(),
        source: "Documentation/timers/timekeeping.rst",
        fix: Some(fix),
        partition_fixes: &[],
    })
}

fn smis(facts: &Facts) -> Option<Finding> {
    let smis = facts.smis.get().filter(|smis| smis.count > 0)?;
    let often = smis.count > smis.uptime_s / SMI_PERIOD_S + 1;
    Some(Finding {
        id: "system_management_interrupts",
        severity: if often {
            Severity::Worsens
        } else {
            Severity::Notice
        },
        seen: format!(
            "the firmware interrupted all CPUs {} times in {} h",
            smis.count,
            smis.uptime_s / 3600
        ),
        evidence: format!("{} (MSR_SMI_COUNT)", facts.smis.from),
        why: "each stops every CPU for some ten microseconds up to milliseconds, and the kernel does \
              not see it"
            .to_owned(),
        source: "Intel SDM volume 3, chapter System Management Mode; \
                 Documentation/trace/hwlat_detector.rst",
        fix: Some(
            "switch off their sources in the firmware: USB legacy emulation, power and thermal \
             management, ECC polling"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn mitigations(facts: &Facts) -> Option<Finding> {
    let holes = facts.mitigations.get()?;
    let on = holes
        .iter()
        .filter(|(_, state)| state.starts_with("Mitigation"));
    let names: Vec<&String> = on.map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    Some(Finding {
        id: "mitigations",
        severity: Severity::Notice,
        seen: format!("the kernel works around {}", few(&names)),
        evidence: facts.mitigations.from.clone(),
        why: "each entry into the kernel and each switch of tasks takes longer: fractions of a \
              microsecond for every system call, interrupt and wakeup"
            .to_owned(),
        source: "Documentation/admin-guide/hw-vuln/index.rst",
        fix: Some(
            "boot with mitigations=off, but only where no foreign code runs and nobody else logs in"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}
