/* SPDX-License-Identifier: GPL-2.0-only */
/* Entering the kernel on an RT CPU; long bursts of RT0, and CPUs that go. Part of policy.h. */
#ifndef ARTIS_POLICY_ENTRY_H
#define ARTIS_POLICY_ENTRY_H

/* May a task work in the kernel wherever it is? */
static inline bool artis_is_exempt(u32 policy, bool kthread)
{
	return artis_is_rt0(policy) || kthread;
}

/* How a task that enters the kernel makes way for RT0 first: artis_may_let_rt0_by(). */
enum artis_wait {
	ARTIS_WAIT_DONE,	/* RT0 takes the CPU: no wait */
	ARTIS_WAIT_FOR_RT0,	/* until RT0 has come; if it does not, leave */
	ARTIS_WAIT_FOR_TIMER,	/* interrupts are off: until the timer is due, then leave */
};

static inline enum artis_wait artis_wait(bool rt0_comes, bool interrupts_on)
{
	if (rt0_comes)
		return ARTIS_WAIT_DONE;
	return interrupts_on ? ARTIS_WAIT_FOR_RT0 : ARTIS_WAIT_FOR_TIMER;
}

/*
 * Interrupts are off, and a timer is due for which a thread sleeps: does that thread take the CPU
 * in any case? Then the task leaves when it has gone, and is not asked to before. Of @policy, one
 * that may use @cpus CPUs, and slept on this one (@here). No other CPU may run it then, and no
 * budget holds it back, as it may a deadline task.
 */
static inline bool artis_timer_brings(u32 policy, u32 cpus, bool here)
{
	return here && cpus == 1 && (policy == ARTIS_POLICY_FIFO || policy == ARTIS_POLICY_RR);
}

/*
 * Has the interrupt of a timer that is due at @due come, as soon as interrupts are on? Where all
 * hangs on it (@brings), that is taken for certain a little later only.
 */
static inline bool artis_timer_is_here(u64 due, u64 now_ns, bool brings)
{
	return (s64)(now_ns - due) >= (s64)(brings ? ARTIS_TIMER_COMES_NS : 0);
}

/* Turns of a waiting loop, 5 ns or more each: enough for ARTIS_SWITCH_NS_MAX, and an end. */
static inline u32 artis_wait_turns_max(void)
{
	return ARTIS_SWITCH_NS_MAX / 5;
}

/*
 * RT0 comes before the task has left. Does the task's slice end? With a rest of its slice
 * it would simply go on if another CPU took RT0 away in time (@may_be_taken). Without
 * a rest it makes the kernel ask for the next task, on RT0's way.
 */
static inline bool artis_gives_up_rest(bool may_be_taken)
{
	return may_be_taken;
}

/* Is it a leak that a task which is not exempt works in the kernel on an RT CPU? */
static inline bool artis_is_leak(enum artis_affinity affinity, enum artis_state state)
{
	return !artis_is_bound(affinity) && state != ARTIS_STATE_LEAVES_AFFINITY;
}

/*
 * RT0 has kept the CPU since @displaced_ns: is the task it displaced handed back, to go
 * elsewhere? 0: no task is displaced.
 */
static inline bool artis_hand_back(u64 now_ns, u64 displaced_ns)
{
	return displaced_ns && (s64)(now_ns - displaced_ns) >= (s64)ARTIS_HAND_BACK_NS;
}

/* Without NRT CPUs there is nowhere to send kernel work to: the scheduler ends. */
static inline bool artis_must_end(u32 nrt_cpus)
{
	return !artis_has_sides(nrt_cpus);
}

#endif /* ARTIS_POLICY_ENTRY_H */
