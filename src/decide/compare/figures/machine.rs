// SPDX-License-Identifier: GPL-2.0-only
//! Whether results are of one machine.

use super::{Error, setup};
use artis_result::{Document, Machine};

/// What a machine is, where its file says it.
pub struct Aspect {
    pub(super) what: &'static str,
    pub(super) value: fn(&Machine) -> Option<String>,
}

/// Whatever kernel and scheduler it runs.
pub const HARDWARE: [Aspect; 3] = [
    Aspect {
        what: "CPU model",
        value: |machine| machine.cpu_model.clone(),
    },
    Aspect {
        what: "CPUs",
        value: |machine| Some(machine.cpus.clone()).filter(|cpus| !cpus.is_empty()),
    },
    Aspect {
        what: "virtualisation",
        value: |machine| or_none(machine, machine.virtualisation.as_deref()),
    },
];

/// What makes it another configuration.
pub(super) const STATE: [Aspect; 2] = [
    Aspect {
        what: setup::PREEMPTION,
        value: |machine| or_none(machine, Some(&machine.preemption)),
    },
    Aspect {
        what: setup::SCHEDULER,
        value: |machine| or_none(machine, machine.scheduler.as_deref()),
    },
];

/// Files of other programs leave out what artis always writes, and then absence says nothing.
fn or_none(machine: &Machine, value: Option<&str>) -> Option<String> {
    (!machine.preemption.is_empty()).then(|| value.unwrap_or("none").to_owned())
}

/// Two that are not one machine, by their names.
#[derive(Debug, PartialEq)]
pub struct Difference<'a> {
    pub what: &'static str,
    pub one: (&'a str, String),
    pub other: (&'a str, String),
}

/// The first two that differ.
pub fn difference<'a>(
    aspects: &[Aspect],
    machines: impl Iterator<Item = (&'a str, &'a Machine)> + Clone,
) -> Option<Difference<'a>> {
    aspects.iter().find_map(|aspect| {
        let mut known = machines
            .clone()
            .filter_map(|(name, machine)| Some((name, (aspect.value)(machine)?)));
        let one = known.next()?;
        let other = known.find(|(_, value)| *value != one.1)?;
        Some(Difference {
            what: aspect.what,
            one,
            other,
        })
    })
}

/// Refuses files of one name that are of several machines, or of one in several states.
///
/// # Errors
/// [`Error::Machines`].
pub fn one_machine(name: &str, documents: &[Document]) -> Result<(), Error> {
    let machines = documents.iter().filter_map(|one| one.machine.as_ref());
    let machines = machines.map(|machine| (name, machine));
    for aspects in [&HARDWARE[..], &STATE] {
        if let Some(found) = difference(aspects, machines.clone()) {
            return Err(Error::Machines {
                name: name.to_owned(),
                what: found.what,
                one: found.one.1,
                other: found.other.1,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::Setup;

    fn of(change: impl Fn(&mut Machine)) -> Document {
        let mut machine = Machine::of_kernel("6.12".to_owned());
        machine.cpus = "0-3".to_owned();
        machine.preemption = "lazy".to_owned();
        change(&mut machine);
        let mut document = Document::new(Setup::default());
        document.machine = Some(machine);
        document
    }

    #[test]
    fn runs_of_one_name_are_of_one_machine_in_one_state() {
        let plain = of(|_| {});
        let kernel = of(|machine| machine.kernel = "6.13".to_owned());
        let mut unknown = plain.clone();
        unknown.machine = None;
        assert_eq!(
            one_machine("stock", &[plain.clone(), kernel, unknown]),
            Ok(())
        );
        for (other, part) in [
            (of(|it| it.cpus = "0-1".to_owned()), "CPUs: 0-3 and 0-1"),
            (
                of(|it| it.virtualisation = Some("kvm".to_owned())),
                "virtualisation: none and kvm",
            ),
            (
                of(|it| it.preemption = "PREEMPT_RT".to_owned()),
                "preemption: lazy and PREEMPT_RT",
            ),
            (
                of(|it| it.scheduler = Some("artis".to_owned())),
                "sched_ext scheduler: none and artis",
            ),
        ] {
            let error = one_machine("stock", &[plain.clone(), other]).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    /// jitterdebugger's files have a kernel and no more.
    #[test]
    fn what_another_program_leaves_out_is_no_difference() {
        let mut foreign = of(|_| {});
        foreign.machine = Some(Machine::of_kernel("6.12".to_owned()));
        let virtual_one = of(|it| it.virtualisation = Some("kvm".to_owned()));
        assert_eq!(one_machine("stock", &[virtual_one, foreign]), Ok(()));
    }
}
