/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How busy the two sides are.
 */
#ifndef ARTIS_SIDES_H
#define ARTIS_SIDES_H

/* Does @cpu have a task of ours, @running (see class_on()) or displaced? */
static bool hosts(s32 cpu, enum artis_class running)
{
	return artis_is_ours(running) || local_queued(cpu);
}

/* Linux tasks in the queues of all caches, for NRT CPUs or for @both sides. */
static u32 linux_queued_anywhere(bool both)
{
	u32 llc, tasks = 0;

	if (!has_llcs())
		return linux_queued(both, 0);
	bpf_for(llc, 0, nr_llcs)
		tasks += linux_queued(both, llc);
	return tasks;
}

/* Global, and so verified once. */
__noinline int measure_rt_side(struct artis_side *rt __arg_nonnull)
{
	u32 i;

	rt->rt1_tasks = waiting(DSQ_BOTH_RT1);
	rt->tasks = rt->rt1_tasks + linux_queued_anywhere(true);
	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		u32 tasks = artis_is_ours(class_on(cpu)) + local_queued(cpu);

		if (!tasks)
			continue;
		/* both of a switch: the next one is there before the last one is queued */
		rt->tasks += tasks;
		rt->rt1_tasks += artis_is_rt1(cpu_record(cpu)->hosted_class);
	}
	rt->cpus = nr_rt_online;
	return 0;
}

/* @cpu: an NRT CPU whose pinned tasks compete with the shared queue. */
static void measure_nrt_side(struct artis_side *nrt, s32 cpu)
{
	nrt->cpus = nr_nrt_online;
	nrt->rt1_tasks = 0;
	nrt->tasks = nr_nrt_online + waiting(DSQ_NRT_KTHREAD) + waiting(DSQ_NRT_RT1) +
		     linux_queued_anywhere(false) + pinned_queued(cpu) + pinned_rt1_queued(cpu);
}

#endif /* ARTIS_SIDES_H */
