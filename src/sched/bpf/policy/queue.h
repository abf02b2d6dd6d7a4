/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a runnable task goes. Part of policy.h. */
#ifndef ARTIS_POLICY_QUEUE_H
#define ARTIS_POLICY_QUEUE_H

/* Which CPU a task that wakes up is sent to. */
enum artis_pick {
	ARTIS_PICK_LAST,	/* the one where it was last */
	ARTIS_PICK_IDLE,	/* an idle NRT CPU, which gets it at once */
	ARTIS_PICK_WAKER,	/* the waker's, if artis_may_hand_over() and artis_comes_first() */
	ARTIS_PICK_NRT,		/* any NRT CPU */
	ARTIS_PICK_NRT_FRONT,	/* the same, an idle one first; it waits in front there */
	ARTIS_PICK_NRT_LATER,	/* the first NRT CPU that asks for a task, if none is idle */
};

/*
 * The @nth to try, 0 to 2, for who cannot have the one before. A wakeup never touches the run
 * queue of another CPU that is an RT CPU: the waker would hold its lock. @from_rt: the waker is an
 * interrupt or softirq of an RT CPU, the shorter the better, because RT0's timer waits. A kernel
 * thread, which the timer of a delayed work wakes there for example, comes before those who share
 * by virtual time and needs no place in it: ops.enqueue() is spared. If it may use the waker's CPU
 * it stays in that run queue until an NRT CPU takes it: an NRT CPU that switches holds its own for
 * up to 90 us.
 */
static inline enum artis_pick artis_pick_cpu(const struct artis_task_view *task, bool from_rt,
					     u32 nth)
{
	if (artis_is_bound(task->affinity) || task->fixed)
		return ARTIS_PICK_LAST;
	if (from_rt)
		return task->class != ARTIS_CLASS_KTHREAD ? ARTIS_PICK_NRT :
		       nth ? ARTIS_PICK_NRT_FRONT :
			     ARTIS_PICK_NRT_LATER;
	switch (nth) {
	case 0: return ARTIS_PICK_IDLE;
	case 1: return ARTIS_PICK_WAKER;
	default: return ARTIS_PICK_NRT;
	}
}

/*
 * Does no other CPU take a task that waits at an NRT CPU? A bound task is taken by none. While no
 * NRT CPU is idle (@idle of them are), each has tasks of its own, and an RT CPU takes none that has
 * just woken up. When that changes, each tick sends a task that has run for a while elsewhere, see
 * artis_hands_over().
 */
static inline bool artis_is_alone(const struct artis_task_view *task, u32 idle)
{
	return task->affinity == ARTIS_AFFINITY_ONE || !idle;
}

/*
 * May one more task wait in front at a CPU, behind @in_front others, because its turn is before
 * that of all who wait elsewhere? Then nobody is asked who comes next, which matters for messages.
 * Where others would take it, only one does (@alone: see artis_is_alone()).
 */
static inline bool artis_has_room(bool alone, u32 in_front)
{
	return in_front < (alone ? ARTIS_IN_FRONT_ALONE_MAX : 1);
}

/*
 * May a task that wakes up be handed the CPU of its waker, which says that it will sleep
 * at once (@sync)? @rt_cpu: of the waker's CPU; @waits: somebody waits there.
 */
static inline bool artis_may_hand_over(const struct artis_task_view *task, bool sync, bool rt_cpu,
				       bool interrupt, bool waits)
{
	return sync && !rt_cpu && !interrupt && !waits && task->class == ARTIS_CLASS_LINUX;
}

/*
 * Is the turn of a task that wakes up before that of the first that waits? Only then it
 * goes past the queue. @others: somebody waits; @first: the deadline of the first one.
 */
static inline bool artis_comes_first(u64 deadline, bool others, u64 first)
{
	return !others || artis_vtime_before(deadline, first);
}

/* Where a task that becomes runnable is queued. */
enum artis_place {
	ARTIS_PLACE_PINNED,	/* for its one CPU */
	ARTIS_PLACE_NRT,	/* for the NRT CPUs */
	ARTIS_PLACE_RT,		/* for all CPUs: it is in user mode */
	ARTIS_PLACE_RT_ONLY,	/* ... it may run nowhere else */
	ARTIS_PLACE_RT_PROMOTED, /* ... it comes from the NRT side */
};

/*
 * @on: the scheduler has all tasks. @rt_cpus: RT CPUs online. A task that was on an
 * RT CPU and that nothing marked is in user mode still. But who wakes up is in the
 * kernel, wherever it went to sleep; no RT CPU is woken on RT0's way; and an RT1+ task
 * that a long burst of RT0 keeps waiting comes first on the NRT CPUs.
 */
static inline enum artis_place artis_place(const struct artis_task_view *task, bool on, u32 rt_cpus)
{
	if (task->affinity == ARTIS_AFFINITY_ONE || task->fixed)
		return ARTIS_PLACE_PINNED;
	if (task->affinity == ARTIS_AFFINITY_RT)
		return ARTIS_PLACE_RT_ONLY;
	if (!on || task->class == ARTIS_CLASS_KTHREAD || task->affinity == ARTIS_AFFINITY_NRT)
		return ARTIS_PLACE_NRT;
	if (task->state == ARTIS_STATE_PROMOTED)
		return ARTIS_PLACE_RT_PROMOTED;
	if (task->handed_back && (task->immed || task->class == ARTIS_CLASS_RT1))
		return ARTIS_PLACE_NRT;
	if (task->state == ARTIS_STATE_RT && !task->wakes && rt_cpus)
		return ARTIS_PLACE_RT;
	return ARTIS_PLACE_NRT;
}

/* Is this a place on the RT side? For a task of one CPU that is what its CPU is. */
static inline bool artis_is_rt_place(enum artis_place place, bool rt_cpu)
{
	return place == ARTIS_PLACE_PINNED ? rt_cpu : place >= ARTIS_PLACE_RT;
}

/* The state of a task that is queued: only the RT side keeps what is known of it. */
static inline enum artis_state artis_state_queued(enum artis_place place)
{
	return place >= ARTIS_PLACE_RT ? ARTIS_STATE_RT : ARTIS_STATE_NRT;
}

/* How the tasks of a queue are ordered. Each place has a queue for each order it uses. */
enum artis_order {
	ARTIS_ORDER_ARRIVAL,	/* kernel threads that just woke up */
	ARTIS_ORDER_LEVEL,	/* RT1+ tasks: artis_rt1_key() */
	ARTIS_ORDER_VTIME,	/* everybody else */
};

/*
 * A kernel thread that wakes up is what others wait for: it comes first, until it
 * has used up a slice.
 */
static inline enum artis_order artis_order(const struct artis_task_view *task,
					   enum artis_place place)
{
	if (task->class == ARTIS_CLASS_KTHREAD && task->wakes && place < ARTIS_PLACE_RT)
		return ARTIS_ORDER_ARRIVAL;
	if (task->class == ARTIS_CLASS_RT1)
		return ARTIS_ORDER_LEVEL;
	return ARTIS_ORDER_VTIME;
}

/*
 * Is it placed in virtual time as it is queued? The turn of a kernel thread of an RT CPU does not
 * depend on that, and it may wake up in an interrupt that RT0 waits for. If it uses up its slice
 * it is placed then. RCU's thread (@rcus) never is, and comes first if it uses up its slice: it is
 * runnable most of the time and hardly runs, so its weight would look like work of the NRT side.
 */
static inline bool artis_needs_vtime(enum artis_order order, enum artis_place place, bool rt_cpu,
				     bool rcus)
{
	return !rcus &&
	       (order != ARTIS_ORDER_ARRIVAL || place != ARTIS_PLACE_PINNED || !rt_cpu);
}

#endif /* ARTIS_POLICY_QUEUE_H */
