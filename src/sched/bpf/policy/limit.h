/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of CPU cgroups. Part of policy.h. */
#ifndef ARTIS_POLICY_LIMIT_H
#define ARTIS_POLICY_LIMIT_H

/*
 * In each period a cgroup with a limit has its quota, for its tasks and those of all
 * cgroups below, and what it saved of earlier ones, up to its burst. What it used beyond
 * that is subtracted from the next periods. A task goes on while every limit above it has
 * something left.
 *
 * A task is stopped where a tick finds it in user mode: in the kernel it may hold a lock
 * that others wait for. So a cgroup uses up to a tick too much for each of its tasks, and
 * pays it back. artis, the process, lets tasks on.
 */
struct artis_limit {
	u64 quota_ns;		/* 0: there is no limit */
	u64 period_ns;
	u64 burst_ns;
	u64 until_ns;		/* the end of the period */
	s64 left_ns;		/* negative: a debt */
	s64 promised_ns;	/* to tasks that were let on in this period */
};

/* Kernel threads work for all. @own: it is one of artis, which lets the others on. */
static inline bool artis_is_limited(enum artis_class class, bool own)
{
	return class != ARTIS_CLASS_KTHREAD && !own;
}

/* A new limit begins with a full quota, so that a raised one holds at once. */
static inline void artis_limit_set(struct artis_limit *limit, u64 period_us, u64 quota_us,
				   u64 burst_us, u64 now_ns)
{
	bool none = !period_us || quota_us / ARTIS_LIMIT_CPUS >= period_us;

	limit->period_ns = period_us * ARTIS_NSEC_PER_USEC;
	limit->quota_ns = none ? 0 : quota_us * ARTIS_NSEC_PER_USEC;
	limit->burst_ns = (burst_us < quota_us ? burst_us : quota_us) * ARTIS_NSEC_PER_USEC;
	limit->until_ns = now_ns + limit->period_ns;
	limit->left_ns = limit->quota_ns;
	limit->promised_ns = 0;
}

static inline bool artis_limit_is_set(const struct artis_limit *limit)
{
	return limit->quota_ns;
}

/*
 * Begins the period of @now_ns, if the last one is over. Returns what is to be added to what is
 * left; others subtract from that meanwhile.
 */
static inline s64 artis_limit_refill(struct artis_limit *limit, u64 now_ns)
{
	s64 most_ns = limit->quota_ns + limit->burst_ns;
	s64 left_ns = limit->left_ns, debt_ns, paid_ns;
	u64 periods;

	if (!limit->quota_ns || !limit->period_ns || (s64)(now_ns - limit->until_ns) < 0)
		return 0;
	periods = (now_ns - limit->until_ns) / limit->period_ns + 1;
	limit->until_ns += periods * limit->period_ns;
	limit->promised_ns = 0;
	debt_ns = limit->quota_ns * (ARTIS_LIMIT_DEBT_NS / limit->period_ns);
	paid_ns = left_ns < -debt_ns ? -debt_ns : left_ns;
	if (periods > (u64)(most_ns - paid_ns) / limit->quota_ns)
		return most_ns - left_ns;
	return paid_ns + periods * limit->quota_ns - left_ns;
}

static inline bool artis_limit_is_out(const struct artis_limit *limit)
{
	return limit->quota_ns && limit->left_ns <= 0;
}

/* May one more task be let on in this period? */
static inline bool artis_limit_has_turn(const struct artis_limit *limit)
{
	return !limit->quota_ns || limit->left_ns > limit->promised_ns;
}

/* One is. */
static inline void artis_limit_promise(struct artis_limit *limit)
{
	limit->promised_ns += ARTIS_LIMIT_TURN_NS;
}

/* Does a task that is queued wait for time of its cgroup, and not for a CPU? */
static inline bool artis_is_stopped(const struct artis_task_view *task)
{
	return task->state == ARTIS_STATE_STOPPED && !task->wakes;
}

/* Is it let on in any case? It has waited for long, or its process ends. */
static inline bool artis_stopped_enough(u64 now_ns, u64 since_ns, bool ends)
{
	return ends || (s64)(now_ns - since_ns) >= (s64)ARTIS_LIMIT_STOP_NS;
}

/* Does nobody let stopped tasks on? @looked_ns: when artis last looked for them; 0: never. */
static inline bool artis_is_neglected(u64 now_ns, u64 looked_ns)
{
	return !looked_ns || (s64)(now_ns - looked_ns) >= (s64)ARTIS_LIMIT_NEGLECTED_NS;
}

/* When artis looks again. @stopped: tasks are. */
static inline u64 artis_limit_look_ns(bool stopped)
{
	return stopped ? ARTIS_LIMIT_LOOK_STOPPED_NS : ARTIS_LIMIT_LOOK_NS;
}

#endif /* ARTIS_POLICY_LIMIT_H */
