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

#endif /* ARTIS_POLICY_SWITCH_H */
