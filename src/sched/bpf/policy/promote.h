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

/* How busy one side is, RT or NRT. Who waits for either counts on the RT side. */
struct artis_side {
	u32 cpus;		/* online CPUs of the side */
	u32 tasks;		/* runnable tasks of sched_ext there, running ones included */
	u32 rt1_tasks;		/* RT1+ tasks among them; for the RT side */
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

/* Has an RT CPU nothing to do? Its time is lost then. */
static inline bool artis_rt_hungry(const struct artis_side *rt)
{
	return rt->tasks < rt->cpus;
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
 * A task in user mode on an NRT CPU: does it go to where RT CPUs take it, too? A Linux task does
 * if it makes way anyhow (@makes_way), or if others wait and an RT CPU has nothing to do: it waits
 * no longer there than elsewhere. @nrt counts the task itself.
 *
 * Association rule: RT1+ wants the RT CPUs. With another RT1+ task on each it is better off here,
 * where it comes before the Linux tasks, until it makes way.
 */
static inline enum artis_verdict artis_promote(const struct artis_task_view *task,
					       const struct artis_calls *calls,
					       const struct artis_trial *trial, u64 now_ns,
					       bool makes_way, const struct artis_side *rt,
					       const struct artis_side *nrt)
{
	bool wanted = makes_way || (artis_rt_hungry(rt) && nrt->tasks > nrt->cpus);

	if (task->class == ARTIS_CLASS_RT1)
		wanted = makes_way || rt->rt1_tasks < rt->cpus;
	if (task->class == ARTIS_CLASS_KTHREAD || !rt->cpus || !wanted)
		return ARTIS_STAY;
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

#endif /* ARTIS_POLICY_PROMOTE_H */
