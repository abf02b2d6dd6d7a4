/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of an RT CPU: how the stay of its task ends beside RT0. Part of policy.h. */
#ifndef ARTIS_POLICY_STAY_H
#define ARTIS_POLICY_STAY_H

/*
 * RT0's wakeup is to be no more than a switch of tasks. So nothing ends on its way: a slice ends at
 * a tick, and what RT0's timer would meet is put off, once. See artis_stay() for the table.
 */
enum artis_stay {
	ARTIS_STAY_WHOLE,	/* the task has its slice before it */
	ARTIS_STAY_LAST,	/* the slice was prolonged: it ends at the next tick */
	ARTIS_STAY_PUT_OFF,	/* it is over: the task goes behind RT0, or at the next tick */
	ARTIS_STAY_AHEAD,	/* RT0 is runnable: a server or throttling let the task run */
};

enum artis_event {
	ARTIS_EVENT_BEGINS,	/* a task begins to run, or goes on with a new slice */
	ARTIS_EVENT_GOES_ON,	/* the task goes on now that RT0 has gone */
	ARTIS_EVENT_TICKS,	/* a tick finds it */
	ARTIS_EVENT_OVER,	/* its slice is over, and RT0's timer would meet the switch */
	ARTIS_EVENT_LEAVES,	/* it is to be queued, and RT0 has just come */
};

/* What becomes of its slice. */
enum artis_action {
	ARTIS_ACTION_KEEP,
	ARTIS_ACTION_PROLONG,	/* to artis_slice_prolonged_ns() */
	ARTIS_ACTION_END,
};

/* More than two ticks are apart at most, so that it is not over before the next one. */
static inline u64 artis_slice_prolonged_ns(void)
{
	return 2 * ARTIS_TICK_NS_MAX;
}

/*
 * The table: what an event does in a state (*@stay), and the state after it. @rt0: RT0 is runnable;
 * @tick_ns: how far ticks are apart, 0: not known. A slice of @slice_ns is short if it would be
 * over between two ticks: then the kernel would queue the task as RT0 displaces it.
 *
 *            BEGINS    GOES_ON               TICKS                 OVER        LEAVES
 *   WHOLE    WHOLE     short: prolong, LAST  short: prolong, LAST  PUT_OFF     PUT_OFF
 *   LAST     WHOLE     a tick later: end     end, WHOLE            PUT_OFF     PUT_OFF
 *   PUT_OFF  WHOLE     end                   end                   end         PUT_OFF
 *   AHEAD    WHOLE     as WHOLE, WHOLE       short: prolong, LAST  PUT_OFF     end
 *   if RT0 is runnable:
 *            AHEAD     AHEAD, but PUT_OFF: end
 *
 * Where RT0 has the CPU at each tick, no tick finds the task: so it is looked at as it goes on.
 */
static inline enum artis_action artis_stay(u32 *stay, enum artis_event event, bool rt0,
					   u64 slice_ns, u64 tick_ns)
{
	u64 apart_ns = tick_ns ? tick_ns : ARTIS_TICK_NS_MAX;
	enum artis_stay before = *stay;

	switch (event) {
	case ARTIS_EVENT_BEGINS:
		*stay = rt0 ? ARTIS_STAY_AHEAD : ARTIS_STAY_WHOLE;
		return ARTIS_ACTION_KEEP;
	case ARTIS_EVENT_OVER:
		*stay = ARTIS_STAY_PUT_OFF;
		return before == ARTIS_STAY_PUT_OFF ? ARTIS_ACTION_END : ARTIS_ACTION_PROLONG;
	case ARTIS_EVENT_LEAVES:
		if (before == ARTIS_STAY_AHEAD)
			return ARTIS_ACTION_END;
		*stay = ARTIS_STAY_PUT_OFF;
		return ARTIS_ACTION_PROLONG;
	case ARTIS_EVENT_GOES_ON:
		if (before == ARTIS_STAY_PUT_OFF)
			return ARTIS_ACTION_END;
		if (rt0) {
			*stay = ARTIS_STAY_AHEAD;
			return ARTIS_ACTION_KEEP;
		}
		if (before == ARTIS_STAY_LAST) {
			bool a_tick_later = slice_ns + apart_ns <= artis_slice_prolonged_ns();

			return a_tick_later ? ARTIS_ACTION_END : ARTIS_ACTION_KEEP;
		}
		*stay = ARTIS_STAY_WHOLE;
		break;
	case ARTIS_EVENT_TICKS:
		if (before == ARTIS_STAY_PUT_OFF)
			return ARTIS_ACTION_END;
		if (before == ARTIS_STAY_LAST) {
			*stay = ARTIS_STAY_WHOLE;
			return ARTIS_ACTION_END;
		}
		break;
	}
	/* a tick that finds none finds one that was ended */
	if (slice_ns > apart_ns || (event == ARTIS_EVENT_TICKS && !slice_ns))
		return ARTIS_ACTION_KEEP;
	*stay = ARTIS_STAY_LAST;
	return ARTIS_ACTION_PROLONG;
}

/*
 * Does a task that enters the kernel make way for RT0 first? It enters from user mode,
 * so nothing is lost by a short wait. @known: it has a record, so that it leaves
 * when RT0 has gone. A task that runs ahead of RT0 is not displaced by it.
 */
static inline bool artis_may_let_rt0_by(bool known, u32 stay)
{
	return known && stay != ARTIS_STAY_AHEAD;
}

/*
 * Does RT0 take the CPU from a task at the very moment at which its slice is over?
 * Then the task stays at the head of the CPU's queue with a rest of its slice, and
 * goes when RT0 has gone: to queue it elsewhere would be on RT0's way. First
 * whether that may be, then, with the task and RT0 looked at, whether it is so.
 */
static inline bool artis_may_wait_behind_rt0(const struct artis_task_view *task, bool rt_cpu)
{
	return rt_cpu && !task->immed && !task->wakes && !task->handed_back;
}

static inline bool artis_waits_behind_rt0(bool running, bool rt0_runnable)
{
	return running && rt0_runnable;
}

/* A task begins or goes on, on an RT CPU. Does it go at once? */
enum artis_going {
	ARTIS_GOING_NOT,
	ARTIS_GOING_UNLESS_DUE,	/* ... unless RT0's timer would meet the switch */
	ARTIS_GOING_NOW,
};

/*
 * If its slice ended (@is_over) it goes now, before it does anything here. Not on RT0's way:
 * another real-time thread may have had the CPU, and RT0's timer be due as that one leaves. Who
 * works in the kernel next goes all the same; the others go when RT0 has gone, or at the next tick.
 */
static inline enum artis_going artis_going(bool is_over, bool kthread_waits, bool must_leave)
{
	if (must_leave)
		return ARTIS_GOING_NOW;
	return is_over || kthread_waits ? ARTIS_GOING_UNLESS_DUE : ARTIS_GOING_NOT;
}

/*
 * Does RT0, which is runnable, take the CPU behind this tick? Then the tick ends no slice: to queue
 * the task elsewhere would be on RT0's way. ops.running() asks when RT0 has gone. Who may have used
 * up the time of its cgroup (@limited) is only stopped at ticks, so those count.
 */
static inline bool artis_tick_is_rt0s(bool rt0_runnable, bool limited)
{
	return rt0_runnable && !limited;
}

/* A tick of an RT CPU. Does its task's slice end? RT0 did not come, or went elsewhere. */
static inline bool artis_tick_ends_slice(enum artis_state state, bool kthread_waits)
{
	return artis_is_leaving(state) || kthread_waits;
}

#endif /* ARTIS_POLICY_STAY_H */
