// SPDX-License-Identifier: GPL-2.0-only
//! The machine that is simulated: its CPUs, which of them are RT, their caches and memory nodes.

use crate::mask::Mask;
use artis_machine::CpuList;
use artis_machine::topology::Topology;

/// CPUs that share a queue of artis: a cache, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub cpus: CpuList,
    /// All parts, itself first, the farthest last.
    pub near: Vec<usize>,
}

/// The most CPUs: the scheduler, compiled for the simulator, has records for so many.
pub const CPUS_MAX: u32 = 8192;

/// A machine.
#[derive(Clone, Debug)]
pub struct Layout {
    pub cpus: u32,
    pub rt: CpuList,
    /// So many CPUs, one after the other, share their last cache.
    pub per_cache: u32,
    /// So many are a memory node.
    pub per_node: u32,
    /// As artis divides the machine; the caller asks its `caches`.
    pub parts: Vec<Part>,
    pub(crate) is_rt: Vec<bool>,
    pub(crate) all: Mask,
}

/// A machine that cannot be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadLayout {
    #[error("a machine of {0} CPUs cannot be simulated; give 1 to {CPUS_MAX}")]
    Cpus(u32),
    #[error("RT CPU {0} is no CPU of a machine of {1}; name others with --rt, or give more --cpus")]
    NoCpu(u32, u32),
    #[error(
        "all {0} CPUs are RT CPUs, and nobody else may work in the kernel there; leave one out"
    )]
    NoNrt(u32),
}

impl Layout {
    /// A machine; none for a size: one cache or node for all.
    ///
    /// # Errors
    /// Why there is none such.
    pub fn new(
        cpus: u32,
        rt: CpuList,
        per_cache: Option<u32>,
        per_node: Option<u32>,
    ) -> Result<Self, BadLayout> {
        if !(1..=CPUS_MAX).contains(&cpus) {
            return Err(BadLayout::Cpus(cpus));
        }
        if let Some(last) = rt.last().filter(|last| *last >= cpus) {
            return Err(BadLayout::NoCpu(last, cpus));
        }
        if rt.len() == cpus as usize {
            return Err(BadLayout::NoNrt(cpus));
        }
        let part = Part {
            cpus: (0..cpus).collect(),
            near: vec![0],
        };
        let mut is_rt = vec![false; cpus as usize];
        rt.iter().for_each(|cpu| is_rt[cpu as usize] = true);
        Ok(Self {
            cpus,
            rt,
            per_cache: per_cache.unwrap_or(cpus).clamp(1, cpus),
            per_node: per_node.unwrap_or(cpus).clamp(1, cpus),
            parts: vec![part],
            is_rt,
            all: Mask::full(cpus),
        })
    }

    /// The number of a CPU's last cache.
    pub fn cache_of(&self, cpu: u32) -> u32 {
        cpu / self.per_cache
    }

    pub fn node_of(&self, cpu: u32) -> u32 {
        cpu / self.per_node
    }

    /// How many caches there are.
    pub fn caches(&self) -> u32 {
        self.cpus.div_ceil(self.per_cache)
    }

    /// The CPUs of a cache: from the first to before the second.
    pub fn cache(&self, cache: u32) -> (u32, u32) {
        let first = cache * self.per_cache;
        (first, (first + self.per_cache).min(self.cpus))
    }

    /// As `artis` reads it of a machine: one thread a core.
    pub fn topology(&self) -> Topology {
        let groups = |size: u32| -> Vec<CpuList> {
            let firsts = (0..self.cpus).step_by(size as usize);
            firsts
                .map(|first| (first..(first + size).min(self.cpus)).collect())
                .collect()
        };
        Topology {
            cores: groups(1),
            packages: groups(self.per_node),
            l2: groups(1),
            l3: groups(self.per_cache),
            nodes: (0..).zip(groups(self.per_node)).collect(),
            kinds: Default::default(),
        }
    }
}
