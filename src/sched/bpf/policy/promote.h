/* SPDX-License-Identifier: GPL-2.0-only */
/* Who goes to an RT CPU. Part of policy.h. */
#ifndef ARTIS_POLICY_PROMOTE_H
#define ARTIS_POLICY_PROMOTE_H

/* Whether a task at the user boundary goes from an NRT CPU to an RT CPU. */
enum artis_verdict {
	ARTIS_STAY,		/* the balance does not ask for a move */
	ARTIS_REFUSE_ESTIMATE,	/* it would, but the task would soon be back */
	ARTIS_PROMOTE,
};

/*
 * A task's recent dealings with the kernel, in time it spent on a CPU: faults,
 * going to sleep, and system calls that began on an RT CPU.
 */
struct artis_calls {
	u64 interval_ns;	/* running mean between two entries; 0: none seen yet */
	u64 since_ns;		/* since the last entry */
};

/*
 * What came of sending a task to RT CPUs. Nobody sees a task's system calls on
 * NRT CPUs, because there every call of the machine would pay for it; how long it
 * could stay on an RT CPU is seen exactly.
 */
struct artis_trial {
	u64 until_ns;		/* not tried again before */
	u64 pause_ns;		/* how long it was not, the last time; 0: the last stay paid */
};

/* How busy one side is, RT or NRT. */
struct artis_side {
	u32 cpus;		/* online CPUs of the side */
	u32 tasks;		/* runnable tasks of sched_ext there, running ones included */
	u32 rt1_tasks;		/* RT1+ tasks among them; for the RT side */
	u32 rt_util;		/* mean share RT0 tasks take of these CPUs, of ARTIS_CAPACITY */
	u64 weight;		/* of the runnable tasks */
};

/*
 * The task ran for @ran_ns and called the kernel @entries times meanwhile. When
 * exactly is not known. It need not be, because the answer is used at ticks only.
 */
static inline void artis_calls_note(struct artis_calls *calls, u64 ran_ns, u32 entries)
{
	u64 mean_ns;

	calls->since_ns += ran_ns;
	if (!entries)
		return;
	mean_ns = calls->since_ns / entries;
	calls->since_ns = 0;
	if (!calls->interval_ns || entries >> ARTIS_INTERVAL_SHIFT)
		calls->interval_ns = mean_ns;
	else
		calls->interval_ns += ((s64)(mean_ns - calls->interval_ns) * entries) >>
				      ARTIS_INTERVAL_SHIFT;
	/* 0 is taken for "none seen yet" */
	if (!calls->interval_ns)
		calls->interval_ns = 1;
}

/*
 * Next migration attempt estimation (paper, section 2.3): time until the task
 * will call the kernel again. In the first half of the mean interval that is what
 * is left of it. After that the task may have changed its habit, and the best guess
 * is that it goes on for as long as it already did.
 */
static inline u64 artis_next_entry_ns(const struct artis_calls *calls)
{
	if (calls->since_ns < calls->interval_ns / 2)
		return calls->interval_ns - calls->since_ns;
	return calls->since_ns;
}

/* The move there and back must pay for itself. */
static inline bool artis_pays_to_move(const struct artis_calls *calls)
{
	return artis_next_entry_ns(calls) >= 2 * ARTIS_MIGRATION_NS;
}

/* A stay on an RT CPU ended because the task entered the kernel after @stayed_ns. */
static inline void artis_trial_ended(struct artis_trial *trial, enum artis_class class, u64 now_ns,
				     u64 stayed_ns)
{
	u64 longest = class == ARTIS_CLASS_RT1 ? ARTIS_PAUSE_RT1_NS_MAX : ARTIS_PAUSE_NS_MAX;

	if (stayed_ns >= 2 * ARTIS_MIGRATION_NS) {
		trial->pause_ns = 0;
		trial->until_ns = now_ns;
		return;
	}
	trial->pause_ns = trial->pause_ns ? 2 * trial->pause_ns : ARTIS_PAUSE_NS_MIN;
	if (trial->pause_ns > longest)
		trial->pause_ns = longest;
	trial->until_ns = now_ns + trial->pause_ns;
}

static inline bool artis_may_try(const struct artis_trial *trial, u64 now_ns)
{
	return !trial->pause_ns || (s64)(now_ns - trial->until_ns) >= 0;
}

/*
 * Run-queue length weighted by the RT load (paper, section 2.3), for one CPU of
 * the side, in 1/ARTIS_CAPACITY tasks of nice 0: with half of each CPU taken by RT
 * tasks the same queue counts twice. @more: the weight of one more task.
 */
static inline u64 artis_weighted_load(const struct artis_side *side, u32 more)
{
	u64 length = (side->weight + more) * ARTIS_CAPACITY / ARTIS_WEIGHT_NICE_0;
	u64 left = side->rt_util < ARTIS_CAPACITY ? ARTIS_CAPACITY - side->rt_util : 0;

	if (left < ARTIS_CAPACITY_LEFT_MIN)
		left = ARTIS_CAPACITY_LEFT_MIN;
	if (!side->cpus)
		return ~0ULL;
	return length * ARTIS_CAPACITY / left / side->cpus;
}

/*
 * Does the RT side have room? An RT CPU that nobody uses always has, because its time
 * is lost otherwise. Up to ARTIS_RT_QUEUE_MAX tasks may wait for each, besides the one
 * that runs.
 */
static inline bool artis_rt_hungry(const struct artis_side *rt)
{
	return rt->tasks < rt->cpus;
}

static inline bool artis_rt_full(const struct artis_side *rt)
{
	return rt->tasks >= rt->cpus * (1 + ARTIS_RT_QUEUE_MAX);
}

/*
 * May the tick of an NRT CPU consider this task at all? (It must also have
 * interrupted user mode.)
 */
static inline bool artis_may_be_promoted(const struct artis_task_view *task)
{
	return task->class != ARTIS_CLASS_KTHREAD && task->affinity != ARTIS_AFFINITY_ONE &&
	       task->affinity != ARTIS_AFFINITY_NRT && !task->fixed;
}

/*
 * How often to look at a task on an NRT CPU. RT1+ tasks at every tick: the RT
 * CPUs have the latency they ask for. A Linux task when most of its slice is over
 * (@left_ns; no tick may see the end of one that a timer ends), or when an RT CPU has
 * nothing to do or nothing in reserve.
 */
static inline bool artis_look(enum artis_class class, u64 left_ns, const struct artis_side *rt)
{
	return class == ARTIS_CLASS_RT1 || left_ns < ARTIS_SLICE_NRT_NS / 2 ||
	       rt->tasks < 2 * rt->cpus;
}

/*
 * A task in user mode on an NRT CPU: does it go to an RT CPU? @burst_ns: it has run
 * for so long since it woke up; @nrt counts the task itself.
 */
static inline enum artis_verdict artis_promote(const struct artis_task_view *task,
					       const struct artis_calls *calls,
					       const struct artis_trial *trial, u64 now_ns,
					       u64 burst_ns, const struct artis_side *rt,
					       const struct artis_side *nrt)
{
	if (task->class == ARTIS_CLASS_KTHREAD || !rt->cpus)
		return ARTIS_STAY;
	if (task->class == ARTIS_CLASS_RT1) {
		/*
		 * Association rule: RT1+ wants the RT CPUs, whatever the balance says.
		 * With another RT1+ task on each it is better off here, where it comes
		 * before the Linux tasks.
		 */
		if (rt->rt1_tasks >= rt->cpus)
			return ARTIS_STAY;
	} else {
		/* nobody waits on the NRT side: a move would only cost */
		if (nrt->tasks <= nrt->cpus)
			return ARTIS_STAY;
		/*
		 * It would wait there, behind slices that nobody cuts short. That is for who
		 * computes, not for who answers somebody.
		 */
		if (!artis_rt_hungry(rt) &&
		    (burst_ns < ARTIS_SLICE_NRT_NS || artis_rt_full(rt) ||
		     artis_weighted_load(rt, task->weight) > artis_weighted_load(nrt, 0)))
			return ARTIS_STAY;
	}
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

/*
 * A task in user mode whose slice on an RT CPU is over: does it stay on the RT
 * side? Association rule, RT to NRT: Linux tasks go first. @rt
 * counts the task itself. One that RT0 keeps waiting goes where a CPU may be had at once;
 * but where it would wait for an NRT CPU, too, the next RT CPU that RT0 leaves needs it.
 */
static inline bool artis_stays_rt(const struct artis_task_view *task, const struct artis_side *rt,
				  const struct artis_side *nrt)
{
	if (task->class == ARTIS_CLASS_RT1)
		return true;
	if (task->handed_back && nrt->tasks <= nrt->cpus)
		return false;
	if (!task->handed_back && rt->tasks <= rt->cpus)
		return true;
	return artis_weighted_load(rt, 0) <= artis_weighted_load(nrt, task->weight);
}

#endif /* ARTIS_POLICY_PROMOTE_H */
