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

/* The queue of Linux tasks at @llc, for NRT CPUs or for @both sides. */
static u64 linux_queue(bool both, u32 llc)
{
	return (both ? DSQ_BOTH_LINUX : DSQ_NRT_LINUX) + llc;
}

/*
 * Where the kernel keeps a queue. To find it by its number takes the kernel 150 instructions, with
 * a run queue locked, and most are empty nearly always. So its place is kept once a task was seen
 * there, and before a task was ever queued there nobody looks: what is said of a queue is exact.
 */
enum {
	QUEUE_UNUSED,	/* no task was ever queued there */
	QUEUE_UNKNOWN,	/* one was, and none was seen yet */
};

/* Of one of the queues that there is one of. */
static u64 *place_of(u64 dsq_id)
{
	u32 index = dsq_id - DSQ_NRT_KTHREAD;

	barrier_var(index);
	return &places[index & 7];
}

/* Of a queue of Linux tasks. */
static u64 *linux_place(u32 llc, bool both)
{
	u32 which = both;

	/* the verifier takes a bool for any number */
	barrier_var(llc);
	barrier_var(which);
	return &llc_places[llc & (ARTIS_LLCS_MAX - 1)].at[which & 1];
}

/* A task is about to be queued there. */
static void use(u64 *place)
{
	if (*place == QUEUE_UNUSED)
		*place = QUEUE_UNKNOWN;
}

static const struct scx_dispatch_q *known_at(u64 place)
{
	return place > QUEUE_UNKNOWN ?
		       (void *)bpf_core_cast((void *)place, struct scx_dispatch_q) :
		       NULL;
}

/*
 * Asks the kernel for the first task of a queue, and notes where it keeps that. Returns whether
 * there is one. Global: verified once. The RCU section is for let_on(), a program that may sleep.
 */
__noinline int ask_for_first(u64 dsq_id, u64 *place __arg_nonnull, u64 *deadline __arg_nonnull)
{
	const struct scx_dispatch_q *dsq;
	const struct task_struct *first;

	bpf_rcu_read_lock();
	first = scx_bpf_dsq_peek(dsq_id);
	if (first) {
		*deadline = first->scx.dsq_vtime;
		dsq = first->scx.dsq;
		if (dsq && dsq->id == dsq_id)
			*place = (u64)dsq;
	}
	bpf_rcu_read_unlock();
	return !!first;
}

/* How many tasks wait in @dsq_id? */
static __always_inline u32 queued(u64 dsq_id, u64 *place)
{
	const struct scx_dispatch_q *dsq;
	u64 deadline;

	if (*place == QUEUE_UNUSED)
		return 0;
	dsq = known_at(*place);
	if (dsq)
		return dsq->nr;
	ask_for_first(dsq_id, place, &deadline);
	return scx_bpf_dsq_nr_queued(dsq_id);
}

/* Does a task wait in @dsq_id? Then @deadline is that of the first one. */
static __always_inline bool first_of(u64 dsq_id, u64 *place, u64 *deadline)
{
	const struct scx_dispatch_q *dsq;
	const struct task_struct *first;
	u64 vtime;

	if (*place == QUEUE_UNUSED)
		return false;
	dsq = known_at(*place);
	if (dsq && has_first_task()) {
		first = dsq->first_task;
		if (!first)
			return false;
		vtime = first->scx.dsq_vtime;
		/* or one instruction reads it there and on the stack, which is refused */
		barrier_var(vtime);
		*deadline = vtime;
		return true;
	}
	if (dsq && !dsq->nr)
		return false;
	return ask_for_first(dsq_id, place, deadline);
}

/*
 * The deadline of the first task in @dsq_id that may run on @cpu, if it is one of the first ones;
 * else of the last of those. Global: verified once.
 */
__noinline int ask_for_allowed(u64 dsq_id, s32 cpu, u64 *deadline __arg_nonnull)
{
	struct task_struct *p;
	u32 passed = 0;

	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		*deadline = p->scx.dsq_vtime;
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			return true;
		if (!artis_looks_on(++passed))
			return true;
	}
	return false;
}

/* Does a task wait in @dsq_id that may run on @cpu? Then @deadline is that of the first one. */
static __always_inline bool first_for(s32 cpu, u64 dsq_id, u64 *place, u64 *deadline)
{
	const struct scx_dispatch_q *dsq;
	const struct task_struct *first;

	if (!first_of(dsq_id, place, deadline))
		return false;
	dsq = known_at(*place);
	first = dsq && has_first_task() ? dsq->first_task : NULL;
	/* most may use all */
	if (first && (u32)first->nr_cpus_allowed == nr_cpus)
		return true;
	return ask_for_allowed(dsq_id, cpu, deadline);
}

/* How many wait in one of the queues that there is one of? */
static __always_inline u32 waiting(u64 dsq_id)
{
	return queued(dsq_id, place_of(dsq_id));
}

/* Tasks that may run on @cpu only, but for RT1+: how many wait, and does one? */
static __always_inline u32 pinned_queued(s32 cpu)
{
	return queued(DSQ_PINNED + cpu, &cpu_record(cpu)->pinned_place);
}

static __always_inline bool first_pinned(s32 cpu, u64 *deadline)
{
	return first_of(DSQ_PINNED + cpu, &cpu_record(cpu)->pinned_place, deadline);
}

/* RT1+ tasks among them, which have a queue of their own. */
static __always_inline u32 pinned_rt1_queued(s32 cpu)
{
	return queued(DSQ_PINNED_RT1 + cpu, &cpu_record(cpu)->pinned_rt1_place);
}

static __always_inline bool first_pinned_rt1(s32 cpu, u64 *key)
{
	return first_of(DSQ_PINNED_RT1 + cpu, &cpu_record(cpu)->pinned_rt1_place, key);
}

/* Does an RT1+ task wait that @cpu, which serves the RT side or not, may take? */
static bool rt1_waits(s32 cpu, bool rt)
{
	return (!rt && waiting(DSQ_NRT_RT1)) || waiting(DSQ_BOTH_RT1) || pinned_rt1_queued(cpu);
}

/* Kernel threads that woke up and may run on @cpu only. */
static __always_inline u32 kthreads_queued(s32 cpu)
{
	return queued(DSQ_KTHREAD + cpu, &cpu_record(cpu)->kthread_place);
}

/* Linux tasks in such a queue: how many wait, and does one? */
static __always_inline u32 linux_queued(bool both, u32 llc)
{
	return queued(linux_queue(both, llc), linux_place(llc, both));
}

static __always_inline bool first_linux(bool both, u32 llc, u64 *deadline)
{
	return first_of(linux_queue(both, llc), linux_place(llc, both), deadline);
}

static struct rt1_level *rt1_level(u32 level)
{
	barrier_var(level);
	return &rt1_levels[level & (ARTIS_RT1_LEVELS - 1)];
}

/* Where @p, an RT1+ task, stands among those that wait, if it is runnable since @now. */
static u64 rt1_key(const struct task_struct *p, const struct task_ctx *t, u64 now)
{
	u32 level = artis_rt1_level(p->static_prio);

	return artis_rt1_key(level, t->rt1_had, rt1_level(level)->low, now);
}

/* The same of one that runs. */
static u64 rt1_key_running(const struct task_struct *p, const struct task_ctx *t, u64 now)
{
	u32 level = artis_rt1_level(p->static_prio);

	return artis_rt1_key_running(level, t->rt1_had, rt1_level(level)->low, now);
}

/* One wakes up, or is new. */
static void rt1_wakes(const struct task_struct *p, struct task_ctx *t)
{
	u32 level = artis_rt1_level(p->static_prio);

	t->rt1_had = artis_rt1_wakes(t->rt1_had, rt1_level(level)->low);
}

/* An RT1+ task begins to run on the CPU of @record. */
static void rt1_begins(struct artis_cpu *record, const struct task_struct *p,
		       const struct task_ctx *t, u64 now)
{
	u32 level = artis_rt1_level(p->static_prio);
	struct rt1_level *of = rt1_level(level);

	record->rt1_had = t->rt1_had;
	record->rt1_level = level;
	of->low = artis_rt1_low(of->low, t->rt1_had, artis_passed_ns(now, of->at_ns));
	of->at_ns = now;
}

/* Queues an RT1+ task there. */
static __always_inline void insert_rt1(struct task_struct *p, struct task_ctx *t, u64 dsq_id,
				       u64 *place, bool rt, u64 now, u64 enq_flags)
{
	use(place);
	insert_vtime(p, dsq_id, artis_slice_ns(rt), rt1_key(p, t, now), enq_flags);
}

/* Queues a task there, by its virtual deadline. */
static void insert_linux(struct task_struct *p, bool both, u32 llc, u64 deadline, u64 enq_flags)
{
	use(linux_place(llc, both));
	insert_vtime(p, linux_queue(both, llc), artis_slice_ns(both), deadline, enq_flags);
}

#endif /* ARTIS_QUEUES_H */
