/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How busy the two sides are.
 */
#ifndef ARTIS_SIDES_H
#define ARTIS_SIDES_H

/* Share of @cpu that the classes above ours take, of ARTIS_CAPACITY. */
static u32 rt_util(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->avg_rt.util_avg + rq->avg_dl.util_avg : 0;
}

/* Does @cpu have a task of ours, @running (see class_on()) or displaced? */
static bool hosts(s32 cpu, enum artis_class running)
{
	return artis_is_ours(running) || local_queued(cpu);
}

/* The weight of the runnable tasks of a side. It may be about to change: no lock. */
static u64 pooled_weight(u32 side)
{
	const struct pool *pool = pool_of(side);

	return pool ? pool->tasks.weight : 0;
}

/* Global, and so verified once. */
__noinline int measure_rt_side(struct artis_side *rt __arg_nonnull)
{
	u32 i, util = 0;

	rt->rt1_tasks = scx_bpf_dsq_nr_queued(DSQ_RT_RT1);
	rt->tasks = rt->rt1_tasks + linux_queued(true);
	if (was_shared)
		rt->tasks += scx_bpf_dsq_nr_queued(DSQ_BOTH_LINUX);
	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		u32 tasks = artis_is_ours(class_on(cpu)) + local_queued(cpu);

		util += rt_util(cpu);
		if (!tasks)
			continue;
		/* both of a switch: the next one is there before the last one is queued */
		rt->tasks += tasks;
		rt->rt1_tasks += artis_is_rt1(cpu_record(cpu)->hosted_class);
	}
	rt->cpus = nr_rt_online;
	rt->rt_util = nr_rt ? util / nr_rt : 0;
	rt->weight = pooled_weight(SIDE_RT);
	return 0;
}

/* @cpu: an NRT CPU whose pinned tasks compete with the shared queue, or -1. */
static void measure_nrt_side(struct artis_side *nrt, s32 cpu)
{
	nrt->cpus = nr_nrt_online;
	nrt->rt1_tasks = 0;
	nrt->tasks = nr_nrt_online + scx_bpf_dsq_nr_queued(DSQ_NRT_KTHREAD) +
		     scx_bpf_dsq_nr_queued(DSQ_NRT_RT1) + linux_queued(false);
	if (cpu >= 0)
		nrt->tasks += scx_bpf_dsq_nr_queued(DSQ_PINNED + cpu);
	/* RT0 tasks may run on NRT CPUs too; nobody promised anything there */
	nrt->rt_util = 0;
	nrt->weight = pooled_weight(SIDE_NRT);
}

#endif /* ARTIS_SIDES_H */
