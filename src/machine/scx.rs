// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel offers to BPF schedulers, of what `artis sched` needs.
//!
//! Told from what the kernel describes of itself (BTF), not from its version: distributions take
//! over single changes of newer kernels.

use super::Root;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, FuncProto};
use serde::Serialize;

/// Where the kernel describes its types.
pub const BTF_FILE: &str = "/sys/kernel/btf/vmlinux";

/// Functions that the scheduler cannot do without, newest first. Where several do the same, one is
/// enough; `src/sched/bpf/scx_compat.h` has all the others. Linux 6.16 has one of each.
const FUNCTIONS: &[&[&str]] = &[
    &["__scx_bpf_select_cpu_and", "scx_bpf_select_cpu_and"],
    &["scx_bpf_now"],
    &["scx_bpf_dsq_insert___v2", "scx_bpf_dsq_insert"],
    &["__scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_insert_vtime"],
    &[
        "scx_bpf_dsq_move_to_local___v2",
        "scx_bpf_dsq_move_to_local",
    ],
    &["scx_bpf_dsq_move"],
    &["bpf_iter_scx_dsq_destroy"],
    &["bpf_iter_scx_dsq_new"],
    &["bpf_iter_scx_dsq_next"],
    &["scx_bpf_create_dsq"],
    &["scx_bpf_dsq_nr_queued"],
    &["scx_bpf_exit_bstr"],
    &["scx_bpf_kick_cpu"],
    &["scx_bpf_pick_idle_cpu"],
    &["scx_bpf_task_running"],
];

/// Came with Linux 6.18, as did kicks of a CPU that interrupt it at once on PREEMPT_RT; those
/// cannot be seen in BTF.
const SINCE_HARD_KICKS: &str = "scx_bpf_cpu_curr";

/// What the kernel offers to BPF schedulers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Functions that artis needs and that are not there.
    pub lacks: Vec<&'static str>,
    /// Functions described with a parameter that no caller gives; the verifier refuses the callers.
    pub damaged: Vec<String>,
    /// Whether kicking a CPU interrupts it at once on PREEMPT_RT, too.
    pub hard_kicks: bool,
}

/// BTF could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {BTF_FILE}")]
pub struct Error(#[source] libbpf_rs::Error);

/// The kernel's description of its types; `None` where it has none.
///
/// # Errors
/// When the description exists and cannot be read.
pub fn read_btf(root: &Root) -> Result<Option<Btf<'static>>, Error> {
    if !root.exists(BTF_FILE) {
        return Ok(None);
    }
    Btf::from_path(root.path(BTF_FILE)).map(Some).map_err(Error)
}

impl Interface {
    /// Reads it; `None` where the kernel does not describe its types.
    ///
    /// # Errors
    /// As of [`read_btf`].
    pub fn read(root: &Root) -> Result<Option<Self>, Error> {
        Ok(read_btf(root)?.as_ref().map(Self::of))
    }

    /// What a kernel of this description has.
    pub fn of(btf: &Btf<'_>) -> Self {
        let functions = btf.type_by_kind::<Func<'_>>();
        let of_sched_ext: Vec<(String, Func<'_>)> = functions
            .filter_map(|function| Some((function.name()?.to_str()?, function)))
            .filter(|(name, _)| name.contains("scx"))
            .map(|(name, function)| (name.to_owned(), function))
            .collect();
        let has = |wanted: &str| of_sched_ext.iter().any(|(name, _)| name == wanted);
        let lacks = FUNCTIONS
            .iter()
            .filter(|names| !names.iter().any(|name| has(name)));
        let damaged = of_sched_ext
            .iter()
            .filter(|(name, function)| is_public(name) && ends_in_aux(function));
        Self {
            lacks: lacks.map(|names| names[0]).collect(),
            damaged: damaged.map(|(name, _)| name.clone()).collect(),
            hard_kicks: has(SINCE_HARD_KICKS),
        }
    }
}

/// Is it for BPF programs? The kernel's own forms of them end in `_impl`, and may have the
/// parameter.
fn is_public(name: &str) -> bool {
    let name = name.trim_start_matches("__");
    name.starts_with("scx_bpf_") && !name.ends_with("_impl")
}

/// Does its prototype end in the parameter that the kernel adds by itself since 7.1? Older programs
/// that write BTF leave it in the public form, and then the kernel wants it from the caller.
fn ends_in_aux(function: &Func<'_>) -> bool {
    let Some(Ok(prototype)) = function.next_type().map(FuncProto::try_from) else {
        return false;
    };
    let last = prototype.iter().last();
    last.and_then(|parameter| parameter.name)
        .is_some_and(|name| name == "aux")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(functions: &[(&str, &[&str])]) -> Interface {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        let file = root.path(BTF_FILE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, artis_testing::btf(functions, &[])).unwrap();
        Interface::read(&root).unwrap().unwrap()
    }

    /// The oldest function of each kind, as Linux 6.16 has them.
    fn oldest() -> Vec<(&'static str, &'static [&'static str])> {
        let last = |names: &&[&'static str]| (*names.last().unwrap(), &["p"] as &[&str]);
        FUNCTIONS.iter().map(last).collect()
    }

    #[test]
    fn the_older_function_does_as_well() {
        let interface = read(&oldest());
        assert_eq!(interface, Interface::default());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut functions = oldest();
        functions.retain(|(name, _)| !name.ends_with("select_cpu_and") && *name != "scx_bpf_now");
        let interface = read(&functions);
        assert_eq!(interface.lacks, ["__scx_bpf_select_cpu_and", "scx_bpf_now"]);
    }

    #[test]
    fn a_parameter_of_the_kernel_s_own_in_a_public_function_is_damage() {
        let mut functions = oldest();
        functions.extend([
            ("scx_bpf_cpu_curr", &["cpu"] as &[&str]),
            ("scx_bpf_reenqueue_local", &["aux"]),
            ("scx_bpf_reenqueue_local_impl", &["aux"]),
            ("bpf_scx_reg", &["aux"]),
        ]);
        let interface = read(&functions);
        assert_eq!(interface.damaged, ["scx_bpf_reenqueue_local"]);
        assert!(interface.hard_kicks);
    }

    #[test]
    fn no_description_is_none_and_a_broken_one_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        assert_eq!(Interface::read(&root).unwrap(), None);
        let file = root.path(BTF_FILE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "nonsense").unwrap();
        assert!(Interface::read(&root).is_err());
    }
}
