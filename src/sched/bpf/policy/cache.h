/* SPDX-License-Identifier: GPL-2.0-only */
/* Last-level caches. Part of policy.h. */
#ifndef ARTIS_POLICY_CACHE_H
#define ARTIS_POLICY_CACHE_H

/*
 * Where a machine has several, or one in parts (ARTIS_PART_CPUS), each has a queue of Linux
 * tasks for NRT CPUs and one for all. A task waits where it ran, and a CPU takes from its own. The
 * deadlines of two queues say which of them waits too long: a CPU takes a task from elsewhere that
 * is owed much more than those here, and anybody before it is idle.
 */

/* Does a CPU take tasks that wait for NRT CPUs, or for @any? Then they may wait at its cache. */
static inline bool artis_serves(bool rt_cpu, bool offline, bool any)
{
	return (any || !rt_cpu) && !offline;
}

/* Can it be that the first of another cache's queue is taken? First a cheap question. */
static inline bool artis_may_be_far(u64 deadline, u64 ours)
{
	return artis_vtime_before(deadline, ours);
}

/*
 * Does a CPU take a task of another cache's queue, of @weight, before those that wait here?
 * @ours: the deadline of the first of these; @all: the weight of all.
 */
static inline bool artis_takes_far(u64 deadline, u32 weight, u64 all, u64 ours)
{
	return artis_vtime_before(deadline + artis_distance(ARTIS_FAR_NS, weight, all), ours);
}

#endif /* ARTIS_POLICY_CACHE_H */
