/* SPDX-License-Identifier: GPL-2.0-only */
/* Who makes room, and which CPU is woken. Part of policy.h. */
#ifndef ARTIS_POLICY_ROOM_H
#define ARTIS_POLICY_ROOM_H

/* What a CPU is asked for. */
enum artis_kick {
	ARTIS_KICK_NONE,
	ARTIS_KICK_IDLE,		/* to look for a task if it is idle */
	ARTIS_KICK_PREEMPT,		/* to end the slice of its task */
	ARTIS_KICK_PREEMPT_UNLESS_DUE,	/* ... unless RT0's timer meets artis_kthread_turn_ns() */
};

/* Does a running task make room for one of @class? Only Linux tasks do. */
static inline bool artis_displaces(enum artis_class class, enum artis_class running)
{
	return (class == ARTIS_CLASS_RT1 || class == ARTIS_CLASS_KTHREAD) &&
	       running == ARTIS_CLASS_LINUX;
}

/* @rt0_here: it is this CPU, an RT CPU, and RT0 takes it next: all else can wait. */
static inline bool artis_may_kick(bool rt0_here)
{
	return !rt0_here;
}

/*
 * A task that wakes up waits for an NRT CPU, whose task makes room for the first that waits: is
 * that CPU told at once? @from_rt: it would be an RT CPU that tells it. That takes an interrupt
 * there, which waits for the other's run queue; and the other sees it at its next tick.
 */
static inline bool artis_may_tell(bool from_rt)
{
	return !from_rt;
}

/*
 * A task was queued for its one CPU, where a task of @running runs. On an RT CPU one
 * whose turn RT0's timer would meet waits until RT0 has gone, or for the next tick.
 */
static inline enum artis_kick artis_kick_pinned(enum artis_class class, enum artis_order order,
						bool rt_cpu, enum artis_class running)
{
	if (order == ARTIS_ORDER_VTIME || !artis_displaces(class, running))
		return ARTIS_KICK_IDLE;
	return rt_cpu ? ARTIS_KICK_PREEMPT_UNLESS_DUE : ARTIS_KICK_PREEMPT;
}

static inline u64 artis_kthread_turn_ns(void)
{
	return ARTIS_KTHREAD_TURN_NS;
}

/* Is a task of this class on an NRT CPU compared with the first that waits, at each tick? */
static inline bool artis_makes_way(enum artis_class class)
{
	return class == ARTIS_CLASS_LINUX;
}

/*
 * A task was queued for the NRT CPUs, and none of them is idle: is one looked for whose
 * task makes room, see artis_displaces()?
 */
static inline bool artis_seeks_room(enum artis_class class)
{
	return class == ARTIS_CLASS_RT1;
}

/* Does the task of a CPU make room for one of @class there? @already: for another one. */
static inline bool artis_makes_room(bool rt_cpu, bool offline, bool already, enum artis_class class,
				    enum artis_class running)
{
	return !rt_cpu && !offline && !already && artis_displaces(class, running);
}

/* May an RT CPU be woken for a task of the RT queue? */
static inline bool artis_may_wake_rt(bool offline, bool rt0_runnable)
{
	return !offline && !rt0_runnable;
}

/* What an RT CPU that may be woken can do for a task just queued; bits. */
enum artis_wake {
	ARTIS_WAKE_NONE,
	ARTIS_WAKE_KICK = 1,		/* kick it: it is in a switch, and may have found nothing */
	ARTIS_WAKE_UNLESS_DUE = 2,	/* it has no task: kick it, no other is needed */
	ARTIS_WAKE_DISPLACE = 4,	/* its task makes room, if no CPU is without one */
};

/*
 * @hosts: it has a task, running or displaced. A CPU
 * without a task need not look idle: it may be about to be, having found the queue
 * empty before the task was in it, and the kick makes sure that it looks again. It
 * is left alone where RT0's timer meets artis_idle_switch_ns(), see artis_may_be_left().
 */
static inline u32 artis_wake_rt(bool hosts, enum artis_offer offer, bool switching)
{
	if (!hosts)
		return ARTIS_WAKE_UNLESS_DUE;
	return (switching ? ARTIS_WAKE_KICK : ARTIS_WAKE_NONE) |
	       (offer != ARTIS_OFFER_NONE ? ARTIS_WAKE_DISPLACE : ARTIS_WAKE_NONE);
}

/*
 * May a task be left waiting because RT0's timer would meet the wakeup of its CPU? It may if NRT
 * CPUs take it, too, and see at each tick whether an RT CPU can.
 */
static inline bool artis_may_be_left(enum artis_affinity affinity)
{
	return !artis_is_bound(affinity);
}

/* To leave the idle loop takes about as long as the switch. */
static inline u64 artis_idle_switch_ns(u64 switch_ns)
{
	return 2 * switch_ns;
}

#endif /* ARTIS_POLICY_ROOM_H */
