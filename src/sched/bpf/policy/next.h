/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is next on a CPU. Part of policy.h. */
#ifndef ARTIS_POLICY_NEXT_H
#define ARTIS_POLICY_NEXT_H

/* How a CPU chooses its next task. */
enum artis_service {
	ARTIS_SERVICE_RT,
	ARTIS_SERVICE_RT_OFFLINE,
	ARTIS_SERVICE_NRT,
};

/* One attempt to find the next task. The first that finds one ends the search. */
enum artis_step {
	ARTIS_STEP_END,
	ARTIS_STEP_KTHREAD_HERE,	/* a kernel thread that woke up, for this CPU alone */
	ARTIS_STEP_KTHREAD_SHARED,	/* ... for any NRT CPU; RCU's thread that was held first */
	ARTIS_STEP_RT1,			/* RT1+ tasks, see artis_rt1_turn() */
	ARTIS_STEP_FAIR,		/* Linux tasks, and tasks of this CPU alone, by virtual time */
	ARTIS_STEP_PINNED,		/* tasks of this CPU alone */
	ARTIS_STEP_RT1_LEFT,		/* RT1+ tasks whose turn it was not: nobody else was there */
	ARTIS_STEP_GO_ON,		/* the task that ran before */
	ARTIS_STEP_FAR,			/* Linux tasks that wait at another cache */
	ARTIS_STEP_STOPPED,		/* who is stopped, see artis_is_beset() */
};

/* The longest order of service, its end included. */
#define ARTIS_STEPS_MAX 9

/*
 * An NRT CPU on which real-time tasks are runnable (@rt_runnable) is served by the kernel's
 * deadline server when they leave it no time. A server that is given no task stops. It starts again
 * when the first task of ours becomes runnable on that run queue, and tasks in shared queues, held
 * and stopped ones count there, too. So on such a CPU no task is sent away, held or stopped, and
 * whoever waits is taken: a server that stopped while one waits would never start again.
 */
static inline bool artis_is_beset(bool rt_cpu, bool rt_runnable)
{
	return !rt_cpu && rt_runnable;
}

/*
 * For how long real-time tasks have kept a CPU from everybody else: @ticks in a row found one, and
 * no other task began to run. 0 where ticks are not known.
 */
static inline u64 artis_beset_ns(u32 ticks, u64 tick_ns)
{
	return ticks * tick_ns;
}

/* Is that long? Then artis, the process, sees to it that the machine answers. */
static inline bool artis_is_beset_long(u64 beset_ns)
{
	return beset_ns >= ARTIS_BESET_NS;
}

/* Has a task waited for so long, since @since_ns, that a CPU that is beset may take it? */
static inline bool artis_is_stranded(u64 now_ns, u64 since_ns)
{
	return since_ns && (s64)(now_ns - since_ns) >= (s64)ARTIS_BESET_NS;
}

/* Has one waited since @since_ns for longer than anybody is to wait? */
static inline bool artis_is_overdue(u64 now_ns, u64 since_ns)
{
	return since_ns && (s64)(now_ns - since_ns) >= (s64)ARTIS_OVERDUE_NS;
}

/* How often artis, the process, looks for one. */
static inline u64 artis_overdue_look_ns(void)
{
	return ARTIS_OVERDUE_LOOK_NS;
}

/*
 * Tasks have been runnable on a CPU that was beset all the time, for @waits_ns: does no deadline
 * server serve them? One would have within a second, its period.
 */
static inline bool artis_is_unserved(u64 waits_ns)
{
	return waits_ns >= ARTIS_UNSERVED_NS;
}

/*
 * Are RT CPUs for tasks in user mode only? With no NRT CPU left, on the way to its end, the
 * machine needs every CPU for everybody.
 */
static inline bool artis_has_sides(u32 nrt_cpus)
{
	return nrt_cpus;
}

/*
 * An RT CPU that is back but unwatched serves who may run nowhere else.
 */
static inline enum artis_service artis_service(bool rt_cpu, bool offline, u32 nrt_cpus)
{
	if (!rt_cpu || !artis_has_sides(nrt_cpus))
		return ARTIS_SERVICE_NRT;
	return offline ? ARTIS_SERVICE_RT_OFFLINE : ARTIS_SERVICE_RT;
}

/*
 * The order of service. Kernel threads first: others wait for them. Then RT1+, then
 * everybody else. An RT CPU takes only who is in user mode.
 */
static inline enum artis_step artis_step(enum artis_service service, u32 nth)
{
	switch (service) {
	case ARTIS_SERVICE_RT:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_RT1;
		case 2: return ARTIS_STEP_FAIR;
		case 3: return ARTIS_STEP_RT1_LEFT;
		case 4: return ARTIS_STEP_GO_ON;
		case 5: return ARTIS_STEP_FAR;
		default: return ARTIS_STEP_END;
		}
	case ARTIS_SERVICE_RT_OFFLINE:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_PINNED;
		default: return ARTIS_STEP_END;
		}
	case ARTIS_SERVICE_NRT:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_KTHREAD_SHARED;
		case 2: return ARTIS_STEP_RT1;
		case 3: return ARTIS_STEP_FAIR;
		case 4: return ARTIS_STEP_RT1_LEFT;
		case 5: return ARTIS_STEP_GO_ON;
		case 6: return ARTIS_STEP_FAR;
		case 7: return ARTIS_STEP_STOPPED;
		default: return ARTIS_STEP_END;
		}
	}
	return ARTIS_STEP_END;
}

/* Whose turn it is on a CPU, between RT1+ tasks and everybody else. */
struct artis_turn {
	u64 rt1_since_ns;	/* RT1+ tasks have come first since then */
	u64 others_until_ns;	/* the others come first until then */
};

/* No RT1+ task is here: the next one has its whole phase before it. */
static inline void artis_turn_reset(struct artis_turn *turn, u64 now_ns)
{
	turn->rt1_since_ns = now_ns;
	turn->others_until_ns = now_ns;
}

/* RT1+ tasks and others wait: do the others come first at the moment? */
static inline bool artis_others_turn(struct artis_turn *turn, u64 now_ns)
{
	if ((s64)(turn->others_until_ns - now_ns) > 0)
		return true;
	if ((s64)(now_ns - turn->rt1_since_ns) < (s64)ARTIS_RT1_PHASE_NS)
		return false;
	turn->others_until_ns = now_ns + ARTIS_OTHERS_PHASE_NS;
	turn->rt1_since_ns = turn->others_until_ns;
	return true;
}

enum artis_rt1_turn {
	ARTIS_TURN_NO_RT1,	/* no RT1+ task is here */
	ARTIS_TURN_OTHERS,	/* one is, and the others come first */
	ARTIS_TURN_RT1,
};

/* @rt1: an RT1+ task waits, or may go on; @others: somebody else waits. */
static inline enum artis_rt1_turn artis_rt1_turn(struct artis_turn *turn, bool rt1, bool others,
						 u64 now_ns)
{
	if (!rt1) {
		artis_turn_reset(turn, now_ns);
		return ARTIS_TURN_NO_RT1;
	}
	return others && artis_others_turn(turn, now_ns) ? ARTIS_TURN_OTHERS : ARTIS_TURN_RT1;
}

/*
 * Does a task whose slice is over go on? @deadline: its new one, or as an RT1+ task its key;
 * @first: that of the first that waits. Who @yields makes way for anybody.
 */
static inline bool artis_stays_first(bool yields, u64 deadline, u64 first)
{
	return !yields && artis_vtime_before(deadline, first);
}

/* Is the deadline of the first of a queue before that of another's? @has: there is one. */
static inline bool artis_is_first(bool has, u64 deadline, bool other, u64 other_deadline)
{
	return has && (!other || artis_vtime_before(deadline, other_deadline));
}

/*
 * The queues of Linux tasks, or of RT1+ tasks, from which a CPU takes, and the deadline or key of
 * the first of each.
 */
struct artis_heads {
	bool own;	/* of this CPU alone: somebody waits there */
	bool side;	/* of the side, at the CPU's cache */
	bool both;	/* of both sides, at that cache, see group.h */
	u64 own_deadline;
	u64 side_deadline;
	u64 both_deadline;
};

enum artis_queue {
	ARTIS_QUEUE_NONE,
	ARTIS_QUEUE_OWN,
	ARTIS_QUEUE_SIDE,
	ARTIS_QUEUE_BOTH,
	ARTIS_QUEUES = ARTIS_QUEUE_BOTH,	/* how many there are */
};

/*
 * The queue whose first task has the first deadline; of equal ones that of the side. Who finds
 * that the task is not allowed on the CPU forgets that queue, and asks again.
 */
static inline enum artis_queue artis_first_queue(const struct artis_heads *heads)
{
	enum artis_queue queue = heads->side ? ARTIS_QUEUE_SIDE : ARTIS_QUEUE_NONE;
	u64 deadline = heads->side_deadline;

	if (artis_is_first(heads->both, heads->both_deadline, queue, deadline)) {
		queue = ARTIS_QUEUE_BOTH;
		deadline = heads->both_deadline;
	}
	if (artis_is_first(heads->own, heads->own_deadline, queue, deadline))
		queue = ARTIS_QUEUE_OWN;
	return queue;
}

static inline u64 artis_first_deadline(const struct artis_heads *heads, enum artis_queue queue)
{
	if (queue == ARTIS_QUEUE_OWN)
		return heads->own_deadline;
	return queue == ARTIS_QUEUE_BOTH ? heads->both_deadline : heads->side_deadline;
}

static inline void artis_forget_queue(struct artis_heads *heads, enum artis_queue queue)
{
	heads->own &= queue != ARTIS_QUEUE_OWN;
	heads->side &= queue != ARTIS_QUEUE_SIDE;
	heads->both &= queue != ARTIS_QUEUE_BOTH;
}

/*
 * May a task whose slice is over, and that is runnable, go on? On an RT CPU: who is in
 * user mode or allowed nowhere else. Elsewhere: all but who waits to be queued for the
 * RT CPUs; one that makes way does if the other has been taken elsewhere meanwhile. A task
 * that was to leave as RT0 came leaves now, and one that is to stop stops.
 */
static inline bool artis_may_go_on(const struct artis_task_view *task, bool rt_cpu, u32 nrt_cpus)
{
	if (artis_is_leaving(task->state) || task->state == ARTIS_STATE_STOPPED)
		return false;
	if (rt_cpu && artis_has_sides(nrt_cpus))
		return artis_is_bound(task->affinity) || task->state == ARTIS_STATE_RT;
	return task->state != ARTIS_STATE_PROMOTED || task->makes_way;
}

/* Its NRT CPU has found nobody for whom it would make way: does it go on all the same? */
static inline bool artis_goes_on_alone(enum artis_state state)
{
	return state == ARTIS_STATE_PROMOTED;
}

/* Does a CPU look for tasks of other caches that are owed much? @looked_ns: when it last did. */
static inline bool artis_looks_far(u64 *looked_ns, u64 now_ns)
{
	return artis_is_time(looked_ns, now_ns, ARTIS_FAR_LOOK_NS);
}

/* @passed tasks may not run on the CPU that looks for one: is the next one looked at? */
static inline bool artis_looks_on(u32 passed)
{
	return passed < ARTIS_LOOKED_AT_MAX;
}

/*
 * May a task be passed over that is runnable since @runnable_at_ns? To take a task locks
 * the run queue of the CPU where it was; if RT0 needs that lock now, another task does.
 */
static inline bool artis_may_pass_over(u64 now_ns, u64 runnable_at_ns)
{
	return (s64)(now_ns - runnable_at_ns) < (s64)ARTIS_PASSED_OVER_NS;
}

/* @passed tasks were passed over: is the next one looked at? */
static inline bool artis_passes_on(u32 passed)
{
	return passed <= ARTIS_PASSED_OVER_MAX;
}

#endif /* ARTIS_POLICY_NEXT_H */
