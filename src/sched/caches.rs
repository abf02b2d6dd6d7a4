// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs share a last-level cache, and how near the caches are to each other.
//!
//! Where every core has a cache of its own at a level, that level says nothing of who is near:
//! then the next larger group of CPUs counts as a cache.
//!
//! A cache of many CPUs is divided into parts, see the policy, and each counts as a cache.

use super::policy::{PART_CPUS, PARTS_MAX};
use artis_machine::CpuList;
use artis_machine::topology::Topology;
use std::collections::BTreeMap;

/// Caches that have queues of their own.
pub const CACHES_MAX: usize = super::bpf::LLCS_MAX as usize;

/// The CPUs of a machine, by their last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// CPUs of each cache, or part of one; those of a memory node stand side by side.
    caches: Vec<CpuList>,
    /// Where each is.
    places: Vec<Place>,
}

/// Where a cache or a part of one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The memory node.
    node: Option<u32>,
    /// The first CPU of the whole cache.
    cache: Option<u32>,
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
        let most = part_cpus(&found);
        let of_cache = |(node, cpus): &(Option<u32>, CpuList)| {
            let (node, cache) = (*node, cpus.first());
            let parts = parts(topology, cpus, most).into_iter();
            parts.map(move |part| (part, Place { node, cache }))
        };
        let (caches, places) = found.iter().flat_map(of_cache).unzip();
        Self { caches, places }
    }

    /// The CPUs of each.
    pub fn cpus(&self) -> &[CpuList] {
        &self.caches
    }

    /// All caches in the order in which this one looks at them: itself, the other parts of the same
    /// one, those of its memory node, the others.
    pub fn near(&self, of: usize) -> Vec<usize> {
        let own = self.places[of];
        let mut near: Vec<usize> = (0..self.caches.len()).collect();
        near.sort_by_key(|&at| {
            let place = self.places[at];
            (at != of, place.node != own.node, place.cache != own.cache)
        });
        near
    }
}

/// How many CPUs a part has at most, so that there are not too many parts.
fn part_cpus(caches: &[(Option<u32>, CpuList)]) -> usize {
    let parts = |most| -> usize {
        let of_each = caches.iter().map(|(_, cpus)| cpus.len().div_ceil(most));
        of_each.sum()
    };
    let most = caches.len().max(PARTS_MAX as usize);
    let mut cpus = PART_CPUS as usize;
    while parts(cpus) > most {
        cpus *= 2;
    }
    cpus
}

/// The CPUs of a cache in parts of much the same size; those of a core stay together.
fn parts(topology: &Topology, cache: &CpuList, most: usize) -> Vec<CpuList> {
    let core_of = |cpu: u32| {
        let core = topology.cores.iter().find(|core| core.contains(cpu));
        core.and_then(CpuList::first).unwrap_or(cpu)
    };
    let mut cores: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in cache.iter() {
        cores.entry(core_of(cpu)).or_default().insert(cpu);
    }
    let cores: Vec<CpuList> = cores.into_values().collect();
    let parts = cache.len().div_ceil(most).clamp(1, cores.len());
    let at = |part| part * cores.len() / parts;
    (0..parts)
        .map(|part| {
            let within = cores[at(part)..at(part + 1)].iter();
            within.flat_map(CpuList::iter).collect()
        })
        .collect()
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
        let cores = ["0", "1", "2", "3", "4", "5", "6", "7"];
        // numbered so that neighbours are of different nodes
        let l3 = ["0-1", "2-3", "4-5", "6-7"];
        let nodes = ["0-1,4-5", "2-3,6-7"];
        let topology = machine(&cores, &l3, &nodes, &nodes);
        let caches = Caches::read(&topology, &"0-7".parse().unwrap());
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
        let flat = machine(&each, &each, &each, &["0-1"]);
        assert_eq!(caches(&flat, "0-1"), ["0-1"]);
        // two threads of one core each
        let cores = ["0-1", "2-3"];
        let threads = machine(&cores, &cores, &cores, &["0-3"]);
        assert_eq!(caches(&threads, "0-3"), ["0-1", "2-3"], "in parts");
    }

    #[test]
    fn a_cache_of_many_cpus_is_divided_into_parts() {
        let unknown = machine(&[], &[], &[], &[]);
        assert_eq!(caches(&unknown, "0"), ["0"]);
        assert_eq!(caches(&unknown, "0-1"), ["0-1"]);
        assert_eq!(caches(&unknown, "0-3"), ["0-1", "2-3"]);
        assert_eq!(caches(&unknown, "0-4"), ["0", "1-2", "3-4"]);
        assert_eq!(caches(&unknown, "0-31").len(), PARTS_MAX as usize);
        let large = caches(&unknown, "0-63");
        assert_eq!(large.len(), PARTS_MAX as usize);
        assert_eq!((large[0].as_str(), large[15].as_str()), ("0-3", "60-63"));
        // more than twice as many: the next size that leaves few enough
        assert_eq!(caches(&unknown, "0-65").len(), 9);
        assert_eq!(caches(&unknown, "0-1023").len(), PARTS_MAX as usize);
    }

    #[test]
    fn threads_of_a_core_stay_together() {
        let cores = ["0,4", "1,5", "2,6", "3,7"];
        let threads = machine(&cores, &["0-7"], &["0-7"], &["0-7"]);
        assert_eq!(caches(&threads, "0-7"), cores);
        // four threads a core: larger parts than wanted, and no more of them than cores
        let cores = ["0-3", "4-7"];
        let threads = machine(&cores, &["0-7"], &["0-7"], &["0-7"]);
        assert_eq!(caches(&threads, "0-7"), cores);
    }

    #[test]
    fn the_other_parts_of_a_cache_are_nearer_than_the_rest_of_its_node() {
        let cores = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"];
        let l3 = ["0-3", "4-7", "8-11"];
        // the first and the last cache are of one node
        let nodes = ["0-3,8-11", "4-7"];
        let topology = machine(&cores, &l3, &nodes, &nodes);
        let caches = Caches::read(&topology, &"0-11".parse().unwrap());
        let cpus: Vec<String> = caches.cpus().iter().map(CpuList::to_string).collect();
        assert_eq!(cpus, ["0-1", "2-3", "8-9", "10-11", "4-5", "6-7"]);
        assert_eq!(caches.near(1), [1, 0, 2, 3, 4, 5]);
        assert_eq!(caches.near(2), [2, 3, 0, 1, 4, 5]);
        assert_eq!(caches.near(5), [5, 4, 0, 1, 2, 3]);
    }

    #[test]
    fn too_many_caches_are_folded() {
        let cpus: Vec<String> = (0..66)
            .map(|at| format!("{}-{}", 2 * at, 2 * at + 1))
            .collect();
        let l3: Vec<&str> = cpus.iter().map(String::as_str).collect();
        let packages = ["0-65", "66-131"];
        let mut topology = machine(&[], &l3, &packages, &["0-131"]);
        let parts = caches(&topology, "0-131");
        assert_eq!(parts.len(), 10, "five of each package: {parts:?}");
        assert_eq!((parts[4].as_str(), parts[5].as_str()), ("52-65", "66-78"));
        topology.packages = topology.l3.clone();
        assert_eq!(caches(&topology, "0-131").len(), 9);
        // as many as there can be, and none of them is divided
        let most: Vec<&str> = l3[..CACHES_MAX].to_vec();
        let topology = machine(&[], &most, &[], &["0-63"]);
        assert_eq!(caches(&topology, "0-63"), most);
    }

    #[test]
    fn a_cpu_of_which_nothing_is_known_is_where_the_one_before_it_is() {
        let topology = machine(&[], &["0-1", "4-5"], &[], &["0-1", "4-5"]);
        assert_eq!(caches(&topology, "0-7"), ["0-1", "2-3", "4-5", "6-7"]);
        let caches = Caches::read(&topology, &"0-7".parse().unwrap());
        assert_eq!(caches.near(1), [1, 0, 2, 3], "0-3 are one cache");
    }
}
