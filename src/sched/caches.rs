// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs share a last-level cache, and how near the caches are to each other.
//!
//! Where every core has a cache of its own at a level, that level says nothing of who is near:
//! then the next larger group of CPUs counts as a cache.

use artis_machine::CpuList;
use artis_machine::topology::Topology;

/// Caches that have queues of their own.
pub const CACHES_MAX: usize = super::bpf::LLCS_MAX as usize;

/// The CPUs of a machine, by their last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// CPUs of each cache; those of a memory node stand side by side.
    caches: Vec<CpuList>,
    /// The memory node of each.
    nodes: Vec<Option<u32>>,
}

impl Caches {
    /// Of the possible CPUs. What is not known of a CPU, because it is offline, is taken to be as
    /// of the one before it.
    pub fn read(topology: &Topology, possible: &CpuList) -> Self {
        let groups = groups(topology);
        let group_of = |cpu| groups.iter().position(|group| group.contains(cpu));
        let node_of = |group: &CpuList| {
            let first = group.first()?;
            let mut nodes = topology.nodes.iter();
            nodes.find_map(|(node, cpus)| cpus.contains(first).then_some(*node))
        };
        let mut found: Vec<(Option<u32>, CpuList)> = groups
            .iter()
            .map(|group| (node_of(group), CpuList::new()))
            .collect();
        let mut last = 0;
        for cpu in possible.iter() {
            last = group_of(cpu).unwrap_or(last);
            match found.get_mut(last) {
                Some((_, cpus)) => cpus.insert(cpu),
                None => found.push((None, CpuList::from_iter([cpu]))),
            }
        }
        found.retain(|(_, cpus)| !cpus.is_empty());
        found.sort_by_key(|(node, cpus)| (*node, cpus.first()));
        let (nodes, caches) = found.into_iter().unzip();
        Self { caches, nodes }
    }

    /// The CPUs of each.
    pub fn cpus(&self) -> &[CpuList] {
        &self.caches
    }

    /// All caches in the order in which this one looks at them: itself, those of its memory node,
    /// the others.
    pub fn near(&self, cache: usize) -> Vec<usize> {
        let mut near: Vec<usize> = (0..self.caches.len()).collect();
        near.sort_by_key(|&other| (other != cache, self.nodes[other] != self.nodes[cache]));
        near
    }
}

/// The groups that count as caches; none where all CPUs are one.
fn groups(topology: &Topology) -> Vec<CpuList> {
    let nodes: Vec<CpuList> = topology.nodes.values().cloned().collect();
    let levels = [&topology.l3, &topology.l2, &topology.packages, &nodes];
    let level = levels.into_iter().find(|level| {
        (1..=CACHES_MAX).contains(&level.len())
            && level.iter().any(|group| has_cores(topology, group))
    });
    level.cloned().unwrap_or_default()
}

/// Does the group have several cores?
fn has_cores(topology: &Topology, group: &CpuList) -> bool {
    let within = |core: &&CpuList| core.first().is_some_and(|cpu| group.contains(cpu));
    match topology.cores.iter().filter(within).count() {
        0 => group.len() > 1,
        cores => cores > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(texts: &[&str]) -> Vec<CpuList> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn machine(cores: &[&str], l3: &[&str], packages: &[&str], nodes: &[&str]) -> Topology {
        Topology {
            cores: lists(cores),
            packages: lists(packages),
            l2: lists(cores),
            l3: lists(l3),
            nodes: (0..).zip(lists(nodes)).collect(),
            kinds: Default::default(),
        }
    }

    fn caches(topology: &Topology, possible: &str) -> Vec<String> {
        let caches = Caches::read(topology, &possible.parse().unwrap());
        caches.cpus().iter().map(CpuList::to_string).collect()
    }

    #[test]
    fn each_shared_cache_counts_and_those_of_the_node_are_near() {
        let cores = ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"];
        // numbered so that neighbours are of different nodes
        let l3 = ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"];
        let nodes = ["0-1,4-5,8-9,12-13", "2-3,6-7,10-11,14-15"];
        let topology = machine(&cores, &l3, &nodes, &nodes);
        let caches = Caches::read(&topology, &"0-15".parse().unwrap());
        let cpus: Vec<String> = caches.cpus().iter().map(CpuList::to_string).collect();
        assert_eq!(cpus, [l3[0], l3[2], l3[1], l3[3]]);
        assert_eq!(caches.near(0), [0, 1, 2, 3]);
        assert_eq!(caches.near(3), [3, 2, 0, 1]);
    }

    #[test]
    fn a_cache_of_one_core_is_none() {
        let each = ["0", "1", "2", "3"];
        let sockets = machine(&each, &each, &["0-1", "2-3"], &["0-3"]);
        assert_eq!(caches(&sockets, "0-3"), ["0-1", "2-3"]);
        let flat = machine(&each, &each, &each, &["0-3"]);
        assert_eq!(caches(&flat, "0-3"), ["0-3"]);
        // two threads of one core each
        let cores = ["0-1", "2-3"];
        let threads = machine(&cores, &cores, &cores, &["0-3"]);
        assert_eq!(caches(&threads, "0-3"), ["0-3"]);
        let unknown = machine(&[], &[], &[], &[]);
        assert_eq!(caches(&unknown, "0-3"), ["0-3"]);
    }

    #[test]
    fn too_many_caches_are_folded() {
        let cpus: Vec<String> = (0..66)
            .map(|at| format!("{}-{}", 2 * at, 2 * at + 1))
            .collect();
        let l3: Vec<&str> = cpus.iter().map(String::as_str).collect();
        let packages = ["0-65", "66-131"];
        let mut topology = machine(&[], &l3, &packages, &["0-131"]);
        assert_eq!(caches(&topology, "0-131"), packages);
        topology.packages = topology.l3.clone();
        assert_eq!(caches(&topology, "0-131"), ["0-131"]);
    }

    #[test]
    fn a_cpu_of_which_nothing_is_known_is_where_the_one_before_it_is() {
        let topology = machine(&[], &["0-1", "4-5"], &[], &["0-1", "4-5"]);
        assert_eq!(caches(&topology, "0-7"), ["0-3", "4-7"]);
    }
}
