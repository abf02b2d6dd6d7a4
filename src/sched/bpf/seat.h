/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task waits that is on an NRT CPU: with all others, or in front of them.
 */
#ifndef ARTIS_SEAT_H
#define ARTIS_SEAT_H

/* Is the turn of @t before that of everybody who waits for @cpu, an NRT CPU? */
static bool comes_first(const struct task_ctx *t, s32 cpu)
{
	u64 first = 0;
	bool others = first_pinned(cpu, &first);

	if (!artis_comes_first(t->deadline, others, first))
		return false;
	others = first_linux(false, llc_of(cpu), &first);
	return artis_comes_first(t->deadline, others, first);
}

/* The class of our task that runs on @cpu, an NRT CPU, or goes on there when RT0 has gone. */
static enum artis_class class_hosted(s32 cpu, const struct artis_cpu *record)
{
	enum artis_class class = class_on(cpu);

	return artis_is_ours(class) || !local_queued(cpu) ? class : record->hosted_class;
}

/* Where a task waits that is on an NRT CPU. */
enum seat {
	SEAT_QUEUE,		/* with all others */
	SEAT_QUEUE_ROOM,	/* the same, and the one that runs makes room for the first of them */
	SEAT_FRONT,		/* before all of them */
	SEAT_FRONT_NEXT,	/* ... first of those there, and takes the CPU when it may */
	SEAT_FRONT_FIRST,	/* ... first of those that wait there */
	SEAT_FRONT_PREEMPT,	/* the same, and it displaces the one that runs */
};

/*
 * The task is on @cpu, an NRT CPU, where it just woke up or does not go on: where does it wait?
 * Global: verified once.
 */
__noinline int seat_of(const struct task_ctx *t __arg_nonnull,
		       const struct artis_task_view *view __arg_nonnull, s32 cpu, u64 now)
{
	struct artis_cpu *record = cpu_record(cpu);
	bool next = artis_comes_next(t->by_interrupt, t->owed);
	enum seat seat = SEAT_FRONT_PREEMPT;
	u32 in_front = local_queued(cpu);
	enum artis_class running;

	if (artis_keeps_turn(view, next, in_front, t->burst_ns))
		return SEAT_FRONT;
	if (!artis_may_take_over(view))
		return SEAT_QUEUE;
	running = class_hosted(cpu, record);
	switch (artis_take_over(view, running, rt1_waits(cpu, false), in_front, next,
				artis_is_soon_done(running, &record->running, now))) {
	case ARTIS_TAKE_OVER_NEVER:
		return SEAT_QUEUE;
	case ARTIS_TAKE_OVER_NEXT:
		if (!artis_next_displaces(running, &record->running, now))
			seat = SEAT_FRONT_NEXT;
		break;
	case ARTIS_TAKE_OVER_BY_DEADLINE:
		if (!artis_takes_over(t->deadline, &record->running, now, t->by_interrupt))
			return artis_may_follow(view, artis_is_alone(view, nr_idle_nrt),
						in_front) &&
					       comes_first(t, cpu) ?
				       SEAT_FRONT :
				       SEAT_QUEUE;
		if (!comes_first(t, cpu))
			return SEAT_QUEUE_ROOM;
		break;
	case ARTIS_TAKE_OVER_FIRST:
		seat = SEAT_FRONT_FIRST;
		break;
	case ARTIS_TAKE_OVER_AT_ONCE:
		break;
	}
	return artis_may_wait_in_front(view->class, next, in_front) ? seat : SEAT_QUEUE;
}

/*
 * Does the task wait in front, in the own queue of its CPU? @makes_room: the CPU is taken over,
 * but by somebody who waits already.
 */
static bool wait_in_front(struct task_struct *p, const struct task_ctx *t,
			  const struct artis_task_view *view, bool rt_side, u64 now,
			  u64 enq_flags, bool *makes_room)
{
	s32 cpu = cpu_of(p);
	u64 how = 0;

	if (!artis_may_wait_here(view, rt_side))
		return false;
	switch (seat_of(t, view, cpu, now)) {
	case SEAT_QUEUE:
		return false;
	case SEAT_QUEUE_ROOM:
		*makes_room = true;
		return false;
	case SEAT_FRONT:
		break;
	case SEAT_FRONT_NEXT:
		cpu_record(cpu)->next_waits = true;
		how = SCX_ENQ_HEAD;
		break;
	case SEAT_FRONT_FIRST:
		how = SCX_ENQ_HEAD;
		break;
	case SEAT_FRONT_PREEMPT:
		how = SCX_ENQ_PREEMPT;
		break;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, artis_slice_ns(false), enq_flags | how);
	return true;
}

#endif /* ARTIS_SEAT_H */
