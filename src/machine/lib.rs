// SPDX-License-Identifier: GPL-2.0-only
//! What the machine is: its CPUs, its kernel, and what a process may do.
//!
//! Reads only, and only below a movable [`Root`], so that canned `/proc` and `/sys` trees can test
//! it. Changes nothing, and does not decide what a fact means for a command.

pub mod arch;
pub mod boot_arguments;
pub mod build_config;
pub mod cgroup;
pub mod clock_source;
pub mod cpu_shares;
pub mod cpu_times;
pub mod cpulist;
pub mod cpumask;
pub mod cpus;
pub mod cpusets;
pub mod deadline_servers;
pub mod debugfs;
pub mod distribution;
pub mod facts;
pub mod frequency;
pub mod idle;
pub mod interrupts;
pub mod irq_affinity;
pub mod kernel;
pub mod kernel_threads;
pub mod kubelet;
pub mod local_timer;
pub mod locked;
pub mod managers;
pub mod memory;
pub mod mitigations;
pub mod mounts;
pub mod package_managers;
pub mod privilege;
pub mod processes;
pub mod rcu;
pub mod root;
pub mod rt_cpus;
pub mod schedstat;
pub mod scx;
pub mod sessions;
pub mod smi;
pub mod supply;
pub mod tasks;
pub mod thermal;
pub mod tick;
pub mod topology;
pub mod virtualisation;
pub mod watchdogs;
pub mod workqueues;

pub use cpulist::CpuList;
pub use root::{Root, Unreadable};
