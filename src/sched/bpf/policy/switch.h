/* SPDX-License-Identifier: GPL-2.0-only */
/* RT0's timer and switches of tasks. Part of policy.h. */
#ifndef ARTIS_POLICY_SWITCH_H
#define ARTIS_POLICY_SWITCH_H

/*
 * A switch of tasks holds interrupts off, and RT0's timer out. Does a timer that is
 * due at @due_ns find what begins now and takes @takes_ns? A timer that is due already
 * waits until interrupts are on, and finds it, too; but for no longer than a switch may
 * take. After that it is over, or was no timer of ours.
 */
static inline bool artis_finds(u64 due_ns, u64 now_ns, u64 takes_ns)
{
	return due_ns + ARTIS_SWITCH_NS_MAX - now_ns < takes_ns + ARTIS_SWITCH_NS_MAX;
}

/* Does RT0 need the run queue of an RT CPU now, or soon? @due_ns: its next timer. */
static inline bool artis_meets_rt0(bool rt0_runnable, u64 due_ns, u64 now_ns, u64 switch_ns)
{
	return rt0_runnable || artis_finds(due_ns, now_ns, switch_ns);
}

/*
 * A switch took @took_ns to where the next task is chosen. @switch_ns: what the next
 * one may take, to its end. It is the longest of late and a quarter more, forgotten
 * by half in 2,800 switches. The longest switches wait for the run queue of another
 * CPU and are few: forgotten sooner, the next of them would meet RT0.
 */
static inline void artis_switch_note(u64 *switch_ns, u64 took_ns)
{
	u64 whole_ns = took_ns + took_ns / 4;

	/* rounded up, or the last 4 us would stay */
	*switch_ns -= (*switch_ns + 4095) / 4096;
	if (whole_ns > ARTIS_SWITCH_NS_MAX)
		whole_ns = ARTIS_SWITCH_NS_MAX;
	if (whole_ns > *switch_ns)
		*switch_ns = whole_ns;
}

/*
 * May a task go on although its slice is over, until RT0 has gone or to the next tick,
 * because RT0's timer would meet the switch? Once (@already), and if artis_may_go_on()
 * and artis_finds() say so, too.
 */
static inline bool artis_may_put_off(bool already, bool offline)
{
	return !already && !offline;
}

/* A task begins or goes on, on an RT CPU. Does it go at once? */
enum artis_going {
	ARTIS_GOING_NOT,
	ARTIS_GOING_UNLESS_DUE,	/* ... unless RT0's timer would meet the switch */
	ARTIS_GOING_NOW,
};

/*
 * If RT0 came as the task was to go (@is_over: its slice is), it goes now, before it does
 * anything here. Not on RT0's way: another real-time thread may have had the CPU, and
 * RT0's timer be due as that one leaves. Who works in the kernel next goes all the same;
 * the others go when RT0 has gone, or at the next tick.
 */
static inline enum artis_going artis_going(bool is_over, bool kthread_waits, bool must_leave)
{
	if (must_leave)
		return ARTIS_GOING_NOW;
	return is_over || kthread_waits ? ARTIS_GOING_UNLESS_DUE : ARTIS_GOING_NOT;
}

/*
 * Ticks are @tick_ns apart. One came at @now_ns, as @jiffies were counted, and the last that was
 * noted at *@ticked_ns and *@ticked_jiffies.
 */
static inline void artis_tick_note(u64 *tick_ns, u64 *ticked_ns, u64 *ticked_jiffies, u64 now_ns,
				   u64 jiffies)
{
	u64 apart_ns = now_ns - *ticked_ns;

	if (jiffies - *ticked_jiffies == 1 && apart_ns <= ARTIS_TICK_NS_MAX)
		*tick_ns = apart_ns;
	*ticked_ns = now_ns;
	*ticked_jiffies = jiffies;
}

/*
 * RCU's thread begins a grace period, and then sleeps until all CPUs have reported that they left
 * what they read. A CPU notices the period at its next tick, the CPU of the thread at once, and
 * reports at the tick after. So an RT CPU is among the last, and of two CPUs always the last one,
 * which wakes the thread, in a softirq behind its tick: RT0 may have to wait for it. A thread that
 * does not sleep need not be woken. So it is held before, until RT CPUs have had these two ticks.
 * Nothing is late by that: its own timer would wake it behind the second one, too. @ticked_ns: when
 * the last tick of an RT CPU came; 0: it is not waited for, because its ticks are not known, or did
 * not come lately.
 */
static inline u64 artis_held_ns(u64 tick_ns, u64 ticked_ns, u64 now_ns)
{
	u64 since_ns = now_ns - ticked_ns;

	if (!tick_ns || since_ns >= 2 * tick_ns)
		return 0;
	return (since_ns < tick_ns ? 2 : 3) * tick_ns - since_ns + ARTIS_HELD_NS;
}

/*
 * A CPU asks for a task. Does the thread go on, held since @held_ns? @goes: its timer says so.
 * @beset: see artis_is_beset().
 */
static inline bool artis_held_goes(bool goes, bool beset, u64 held_ns, u64 now_ns)
{
	return held_ns && (goes || beset || (s64)(now_ns - held_ns) >= (s64)ARTIS_HELD_NS_MAX);
}

/* What a tick of an RT CPU does to the slice of the task there. */
enum artis_tick_slice {
	ARTIS_TICK_SLICE_KEEP,
	ARTIS_TICK_SLICE_PROLONG,	/* to artis_slice_prolonged_ns(), and the next tick ends it */
	ARTIS_TICK_SLICE_END,
};

/*
 * A slice that is over between two ticks makes the kernel queue the task again when RT0
 * displaces it, on RT0's way. So each ends at a tick: one that would not last until the
 * next is prolonged. @last: it was.
 */
static inline enum artis_tick_slice artis_tick_slice(u64 slice_ns, u64 tick_ns, bool last)
{
	if (last)
		return ARTIS_TICK_SLICE_END;
	return slice_ns && slice_ns <= tick_ns ? ARTIS_TICK_SLICE_PROLONG : ARTIS_TICK_SLICE_KEEP;
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

/* More than two ticks are apart at most, so that it is not over before the next one. */
static inline u64 artis_slice_prolonged_ns(void)
{
	return 2 * ARTIS_TICK_NS_MAX;
}

/*
 * The same for a task that goes on when RT0 has gone. Where RT0 has the CPU at each tick, none
 * finds the task: here its slice is prolonged, and ends when it had a tick's time more.
 */
static inline enum artis_tick_slice artis_slice_behind_rt0(u64 slice_ns, u64 tick_ns, bool last)
{
	u64 apart_ns = tick_ns ? tick_ns : ARTIS_TICK_NS_MAX;

	if (!last)
		return slice_ns <= apart_ns ? ARTIS_TICK_SLICE_PROLONG : ARTIS_TICK_SLICE_KEEP;
	return slice_ns + apart_ns <= artis_slice_prolonged_ns() ? ARTIS_TICK_SLICE_END :
								   ARTIS_TICK_SLICE_KEEP;
}

/*
 * A tick of a CPU that goes offline. Is the slice of its task made endless? The kernel calls
 * neither ops.dispatch() nor ops.enqueue() there any more. When the slice of the last task
 * is over it queues that task and leaves the CPU idle, for as long as nobody wakes it up. If it
 * is the thread that takes the CPU offline, the watchdog ends the scheduler.
 * @unwatched: the CPU is back already.
 */
static inline bool artis_keeps_slice(bool offline, bool unwatched)
{
	return offline && !unwatched;
}

static inline u64 artis_slice_endless_ns(void)
{
	return ARTIS_SLICE_ENDLESS_NS;
}

/* A tick of any other CPU. Is this such a slice? It ends, because the CPU stayed after all. */
static inline bool artis_slice_was_endless(u64 slice_ns)
{
	return slice_ns == ARTIS_SLICE_ENDLESS_NS;
}

/* A tick of an RT CPU. Does its task's slice end? RT0 did not come, or went elsewhere. */
static inline bool artis_tick_ends_slice(enum artis_state state, bool kthread_waits)
{
	return artis_is_leaving(state) || kthread_waits;
}

#endif /* ARTIS_POLICY_SWITCH_H */
