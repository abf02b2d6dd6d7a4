/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Last-level caches, and the dispatch queues: which there are, and what waits there.
 */
#ifndef ARTIS_QUEUES_H
#define ARTIS_QUEUES_H

/* Does each of several caches have a queue of its own? The verifier knows the answer. */
static bool has_llcs(void)
{
	return nr_llcs > 1;
}

/* The last-level cache of @cpu. */
static u32 llc_of(s32 cpu)
{
	return has_llcs() ? cpu_record(cpu)->llc : 0;
}

static const volatile struct artis_llc *llc_at(u32 llc)
{
	barrier_var(llc);
	return &llcs[llc & (ARTIS_LLCS_MAX - 1)];
}

/* The cache that is the @nth nearest of @llc; the first is itself. */
static u32 near_llc(u32 llc, u32 nth)
{
	if (!has_llcs())
		return 0;
	barrier_var(nth);
	return llc_at(llc)->near[nth & (ARTIS_LLCS_MAX - 1)];
}

/* The CPUs of this side that are online at @llc. */
static u32 *online_at(u32 llc, bool rt)
{
	u32 side = rt;

	/* the verifier takes a bool for any number */
	barrier_var(llc);
	barrier_var(side);
	return &llc_online[llc & (ARTIS_LLCS_MAX - 1)].cpus[side & 1];
}

static u64 *linux_dsq_at(u32 llc, bool both)
{
	u32 side = both;

	barrier_var(llc);
	barrier_var(side);
	return &llc_dsqs[llc & (ARTIS_LLCS_MAX - 1)].at[side & 1];
}

/* The queue of Linux tasks at @llc, for NRT CPUs or for @both sides. */
static u64 linux_queue(bool both, u32 llc)
{
	return (both ? DSQ_BOTH_LINUX : DSQ_NRT_LINUX) + llc;
}

/*
 * Does a task wait in @dsq_id? Then @deadline is that of the first one. @at is where the kernel
 * keeps that queue, once that is known: to find it by its number takes 150 instructions, with the
 * run queue locked. Where has_first_task() does not hold, the kernel is asked each time.
 */
static __always_inline bool first_of(u64 dsq_id, u64 *at, u64 *deadline)
{
	const struct scx_dispatch_q *dsq;
	const struct task_struct *first;

	if (*at && has_first_task()) {
		dsq = (void *)bpf_core_cast((void *)*at, struct scx_dispatch_q);
		first = dsq->first_task;
		if (!first)
			return false;
		*deadline = first->scx.dsq_vtime;
		return true;
	}
	first = scx_bpf_dsq_peek(dsq_id);
	if (!first)
		return false;
	*deadline = first->scx.dsq_vtime;
	dsq = first->scx.dsq;
	if (dsq && dsq->id == dsq_id)
		*at = (u64)dsq;
	return true;
}

/* The same of the Linux tasks that wait in such a queue. */
static __always_inline bool first_linux(bool both, u32 llc, u64 *deadline)
{
	return first_of(linux_queue(both, llc), linux_dsq_at(llc, both), deadline);
}

/* Tasks in such queues of all caches. */
static u32 linux_queued(bool both)
{
	u32 llc, tasks = 0;

	if (!has_llcs())
		return scx_bpf_dsq_nr_queued(linux_queue(both, 0));
	bpf_for(llc, 0, nr_llcs)
		tasks += scx_bpf_dsq_nr_queued(linux_queue(both, llc));
	return tasks;
}

/*
 * When a task was last queued in one of the shared queues that rarely have one; 0: not
 * since the queue was last seen empty.
 */
static u64 *queued_at(u64 dsq)
{
	u32 index = dsq - DSQ_NRT_KTHREAD;

	barrier_var(index);
	return &queued_ns[index & 7];
}

/*
 * Tasks in such a queue. The kernel inserts a task after ops.enqueue(), so an empty
 * queue is believed only some time after that. @look: also if no task was queued.
 */
static u32 queued(u64 dsq, u64 now, bool look)
{
	u64 *at = queued_at(dsq), last = *at;
	u32 tasks;

	if (!last && !look)
		return 0;
	tasks = scx_bpf_dsq_nr_queued(dsq);
	if (!tasks && last && artis_is_inserted(now, last))
		__sync_val_compare_and_swap(at, last, 0);
	return tasks;
}

#endif /* ARTIS_QUEUES_H */
