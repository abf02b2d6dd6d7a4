/* SPDX-License-Identifier: GPL-2.0-only */
/* A task on an NRT CPU, where it woke up or does not go on: where it waits. Part of policy.h. */
#ifndef ARTIS_POLICY_SEAT_H
#define ARTIS_POLICY_SEAT_H

/*
 * Who comes before whom on an NRT CPU where one wakes up: by rank, and those who share by their
 * deadlines.
 */
enum artis_rank {
	ARTIS_RANK_KTHREAD,	/* a kernel thread of this CPU alone, for which others wait */
	ARTIS_RANK_RT1,		/* among them their level decides */
	ARTIS_RANK_NEXT,	/* an interrupt woke it up, and it is not far ahead of its share */
	ARTIS_RANK_SHARES,	/* everybody else */
};

/*
 * @owed: see artis_is_owed(). What one uses that comes next is charged, so the others get theirs a
 * little later.
 */
static inline enum artis_rank artis_rank(const struct artis_task_view *task, bool interrupt,
					 bool owed)
{
	if (task->class == ARTIS_CLASS_RT1)
		return ARTIS_RANK_RT1;
	if (task->class == ARTIS_CLASS_KTHREAD && task->affinity == ARTIS_AFFINITY_ONE)
		return ARTIS_RANK_KTHREAD;
	return interrupt && owed ? ARTIS_RANK_NEXT : ARTIS_RANK_SHARES;
}

/*
 * The comparison: does one of @rank that wakes up displace the one that runs? Only Linux tasks make
 * room, and not if they have just begun, see artis_is_protected().
 */
static inline bool artis_displaces_running(enum artis_rank rank, u64 deadline, bool interrupt,
					   enum artis_class running_class,
					   const struct artis_running *running, u64 now_ns)
{
	if (running_class != ARTIS_CLASS_LINUX)
		return false;
	if (rank == ARTIS_RANK_SHARES)
		return artis_takes_over(deadline, running, now_ns, interrupt);
	return rank != ARTIS_RANK_NEXT || !artis_is_protected(running, now_ns, true);
}

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

/* Only who wakes up takes over a CPU. */
static inline bool artis_may_take_over(const struct artis_task_view *task)
{
	return task->wakes;
}

/* What it finds there. */
struct artis_found {
	enum artis_class running;
	bool displaces;		/* artis_displaces_running() */
	bool soon_done;		/* artis_is_soon_done() */
	bool rt1_waits;		/* an RT1+ task is queued, and would be passed over */
	bool alone;		/* artis_is_alone() */
	u32 in_front;		/* so many wait in front, and have not run yet */
};

enum artis_seat {
	ARTIS_SEAT_QUEUE,	/* with all others */
	ARTIS_SEAT_QUEUE_ROOM,	/* the same, and who runs makes room for the first of them */
	ARTIS_SEAT_FRONT,	/* before all of them, in the CPU's own queue */
	ARTIS_SEAT_FRONT_NEXT,	/* ... first of those there, and takes the CPU when it may */
	ARTIS_SEAT_FRONT_PREEMPT,	/* ... first, and it displaces the one that runs */
};

/*
 * The seat of one that wakes up. Who displaces the one that runs goes before all that did so
 * earlier, if those are few. Who comes next waits for one that has just begun, or will soon be
 * done. Who shares follows in front if no other CPU takes it: see artis_has_room().
 */
static inline enum artis_seat artis_seat(const struct artis_task_view *task, enum artis_rank rank,
					 const struct artis_found *at)
{
	u32 most = rank == ARTIS_RANK_NEXT ? ARTIS_IN_FRONT_NEXT_MAX : ARTIS_IN_FRONT_MAX;
	bool room = rank < ARTIS_RANK_NEXT || at->in_front < most;
	bool linux_runs = at->running == ARTIS_CLASS_LINUX;

	if (rank == ARTIS_RANK_RT1 && at->rt1_waits)
		return ARTIS_SEAT_QUEUE;
	if (at->displaces)
		return room ? ARTIS_SEAT_FRONT_PREEMPT : ARTIS_SEAT_QUEUE;
	if (task->class != ARTIS_CLASS_LINUX)
		return ARTIS_SEAT_QUEUE;
	if (rank == ARTIS_RANK_NEXT)
		return room && (linux_runs || (at->soon_done && !at->rt1_waits)) ?
			       ARTIS_SEAT_FRONT_NEXT :
			       ARTIS_SEAT_QUEUE;
	return linux_runs && at->alone && artis_has_room(true, at->in_front) ?
		       ARTIS_SEAT_FRONT :
		       ARTIS_SEAT_QUEUE;
}

/* Is the first that waits elsewhere asked for, too? If it comes before, this is the seat: */
static inline bool artis_asks_first(enum artis_rank rank, enum artis_seat seat)
{
	return rank == ARTIS_RANK_SHARES && seat != ARTIS_SEAT_QUEUE;
}

static inline enum artis_seat artis_seat_behind(enum artis_seat seat)
{
	return seat == ARTIS_SEAT_FRONT_PREEMPT ? ARTIS_SEAT_QUEUE_ROOM : ARTIS_SEAT_QUEUE;
}

/*
 * The same for one that does not wake up, but was displaced by one that took over: it goes in
 * front again if an interrupt woke it up and it has run for a short time only since then.
 */
static inline enum artis_seat artis_seat_again(enum artis_rank rank, u32 in_front, u64 burst_ns)
{
	return rank == ARTIS_RANK_NEXT && in_front && burst_ns < ARTIS_PROTECT_NS ?
		       ARTIS_SEAT_FRONT :
		       ARTIS_SEAT_QUEUE;
}

/*
 * May a task wait in front at the CPU where it is? @rt_side: it goes to the RT side. Where RT0
 * stays for long, nobody waits.
 */
static inline bool artis_may_wait_here(const struct artis_task_view *task, bool rt_side)
{
	return !rt_side && !task->handed_back &&
	       (artis_may_take_over(task) || task->class == ARTIS_CLASS_LINUX);
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

#endif /* ARTIS_POLICY_SEAT_H */
