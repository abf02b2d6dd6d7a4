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

/* Does it compute, so that the moves there and back pay? */
static inline bool artis_pays_to_move(const struct artis_calls *calls)
{
	return artis_next_entry_ns(calls) >= ARTIS_STAY_PAYS_NS;
}

/* A stay on an RT CPU ended because the task entered the kernel after @stayed_ns. */
static inline void artis_trial_ended(struct artis_trial *trial, enum artis_class class, u64 now_ns,
				     u64 stayed_ns)
{
	u64 longest = class == ARTIS_CLASS_RT1 ? ARTIS_PAUSE_RT1_NS_MAX : ARTIS_PAUSE_NS_MAX;

	if (stayed_ns >= ARTIS_STAY_PAYS_NS) {
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

/* What an RT CPU is for a task that may run there. */
enum artis_offer {
	ARTIS_OFFER_NONE,
	ARTIS_OFFER_BEHIND,	/* its task is owed much less: they are compared when it looks */
	ARTIS_OFFER_FREE,	/* it has no task of ours, and its time is lost; or none of RT1+ */
};

/* @behind: its task is owed much less, or of a lower level. */
static inline enum artis_offer artis_offer(enum artis_class class, bool hosts,
					   enum artis_class hosted, bool behind)
{
	if (!hosts || (class == ARTIS_CLASS_RT1 && hosted == ARTIS_CLASS_LINUX))
		return ARTIS_OFFER_FREE;
	return class == hosted && behind ? ARTIS_OFFER_BEHIND : ARTIS_OFFER_NONE;
}

/* What one has had more that is owed much less than a task of @weight: virtual time, or RT1+'s. */
static inline u64 artis_owed_much(enum artis_class class, u32 weight)
{
	return class == ARTIS_CLASS_RT1 ? ARTIS_SLICE_RT_NS :
					  artis_vtime_charge(ARTIS_FAR_NS, weight);
}

/* Is the RT1+ task of @their_level, which had @theirs, owed much less than the other one? */
static inline bool artis_rt1_is_behind(u32 level, u64 had, u32 their_level, u64 theirs)
{
	if (level != their_level)
		return level < their_level;
	return artis_vtime_before(had + ARTIS_SLICE_RT_NS, theirs);
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

/* What a task finds that runs on an NRT CPU at a tick. */
struct artis_surroundings {
	bool makes_way;		/* the first that waits here is to come before it */
	bool others;		/* somebody waits */
	bool alike;		/* ... here, who is not owed much less than it */
	bool idle;		/* an NRT CPU is idle that it may use */
	enum artis_offer offer;	/* the best of the RT CPUs that it may use */
};

/*
 * A task in user mode on an NRT CPU: does it go to where RT CPUs take it, too? It does if it makes
 * way anyhow, or if others wait and it waits no longer there: because of what the RT CPUs offer it,
 * or an idle NRT CPU. For an RT CPU whose task is owed much less, others like it have to wait here.
 *
 * Association rule: RT1+ wants the RT CPUs, whoever waits. With another RT1+ task on each it is
 * better off here, where it comes before the Linux tasks, until it makes way; so it is while an NRT
 * CPU is idle.
 */
static inline enum artis_verdict artis_promote(const struct artis_task_view *task,
					       const struct artis_calls *calls,
					       const struct artis_trial *trial, u64 now_ns,
					       const struct artis_surroundings *at)
{
	bool wanted = at->makes_way || (at->others && at->idle);

	if (at->offer == ARTIS_OFFER_FREE)
		wanted |= at->others || (task->class == ARTIS_CLASS_RT1 && !at->idle);
	if (at->offer == ARTIS_OFFER_BEHIND)
		wanted |= at->alike;
	if (task->class == ARTIS_CLASS_KTHREAD || !wanted)
		return ARTIS_STAY;
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

#endif /* ARTIS_POLICY_PROMOTE_H */
