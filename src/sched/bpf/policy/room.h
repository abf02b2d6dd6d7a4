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

/* Only who wakes up takes over a CPU. */
static inline bool artis_may_take_over(const struct artis_task_view *task)
{
	return task->wakes;
}

/*
 * May a task wait in front at the CPU where it is? It may take that over, or else keep its turn,
 * see artis_keeps_turn(). @rt_side: it goes to the RT side. Where RT0 stays for long, nobody waits.
 */
static inline bool artis_may_wait_here(const struct artis_task_view *task, bool rt_side)
{
	return !rt_side && !task->handed_back &&
	       (artis_may_take_over(task) || task->class == ARTIS_CLASS_LINUX);
}

/* Does a task that wakes up take over the NRT CPU where it is? */
enum artis_take_over {
	ARTIS_TAKE_OVER_NEVER,
	ARTIS_TAKE_OVER_BY_DEADLINE,	/* if artis_takes_over() says so; the first that waits does */
	ARTIS_TAKE_OVER_NEXT,		/* it does itself, if artis_next_displaces(); else it waits */
	ARTIS_TAKE_OVER_FIRST,		/* it waits before all that wait in front */
	ARTIS_TAKE_OVER_AT_ONCE,	/* it does itself, whoever waits */
};

/*
 * Will the task that runs soon be done, which is no Linux task? RT0 is, a kernel thread is. So is
 * an RT1+ task, unless it has run for a while since it woke up: then it computes.
 */
static inline bool artis_is_soon_done(enum artis_class running_class,
				      const struct artis_running *running, u64 now_ns)
{
	return !artis_is_rt1(running_class) ||
	       running->burst_ns + artis_ran_ns(running, now_ns) < ARTIS_PROTECT_NS;
}

/*
 * Only Linux tasks make room: for kernel threads of this CPU alone, which others wait
 * for, and for RT1+ tasks. @rt1_waits: an RT1+ task is queued, and would be passed over.
 * @in_front: tasks that took over earlier have not run yet; @next: see artis_comes_next();
 * @soon_done: see artis_is_soon_done().
 */
static inline enum artis_take_over artis_take_over(const struct artis_task_view *task,
						   enum artis_class running, bool rt1_waits,
						   bool in_front, bool next, bool soon_done)
{
	if (task->class == ARTIS_CLASS_RT1) {
		if (rt1_waits)
			return ARTIS_TAKE_OVER_NEVER;
		if (running == ARTIS_CLASS_LINUX)
			return ARTIS_TAKE_OVER_AT_ONCE;
		return in_front ? ARTIS_TAKE_OVER_FIRST : ARTIS_TAKE_OVER_NEVER;
	}
	if (running != ARTIS_CLASS_LINUX)
		return task->class == ARTIS_CLASS_LINUX && next && soon_done && !rt1_waits ?
			       ARTIS_TAKE_OVER_NEXT :
			       ARTIS_TAKE_OVER_NEVER;
	if (task->class == ARTIS_CLASS_KTHREAD && task->affinity == ARTIS_AFFINITY_ONE)
		return ARTIS_TAKE_OVER_AT_ONCE;
	return next ? ARTIS_TAKE_OVER_NEXT : ARTIS_TAKE_OVER_BY_DEADLINE;
}

/*
 * A task that an interrupt woke up is displaced by one that took over (@in_front): does it come
 * next again? If it has run for a short time only since it woke up, @burst_ns.
 */
static inline bool artis_keeps_turn(const struct artis_task_view *task, bool next, bool in_front,
				    u64 burst_ns)
{
	return !task->wakes && next && in_front && burst_ns < ARTIS_PROTECT_NS;
}

/*
 * A task of @class begins to run on an NRT CPU: does it make room for an RT1+ task that waits? If
 * nobody chose it (@chosen): it waited in front, or goes on after RT0, and the RT1+ task woke up
 * when there was nobody to displace.
 */
static inline bool artis_makes_room_late(enum artis_class class, bool chosen)
{
	return !chosen && artis_displaces(ARTIS_CLASS_RT1, class);
}

/* Does a task that comes next displace the one that runs? Else it follows when that stops. */
static inline bool artis_next_displaces(enum artis_class running_class,
					const struct artis_running *running, u64 now_ns)
{
	return running_class == ARTIS_CLASS_LINUX && !artis_is_protected(running, now_ns, true);
}

/*
 * A task does not take over the CPU where it woke up: does it wait in front there, if its turn is
 * before that of all who wait? Tasks that other CPUs may take stay in the shared queue.
 */
static inline bool artis_may_follow(const struct artis_task_view *task, bool alone, u32 in_front)
{
	return task->class == ARTIS_CLASS_LINUX && alone && artis_has_room(alone, in_front);
}

/*
 * A task that takes over comes before all that took over earlier. @waiting: how many of
 * those have not run yet; @next: see artis_comes_next().
 */
static inline bool artis_may_wait_in_front(enum artis_class class, bool next, u32 waiting)
{
	u32 most = next ? ARTIS_IN_FRONT_NEXT_MAX : ARTIS_IN_FRONT_MAX;

	return class != ARTIS_CLASS_LINUX || waiting < most;
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
