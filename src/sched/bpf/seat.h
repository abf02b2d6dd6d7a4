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

/*
 * The task is on @cpu, an NRT CPU, where it just woke up or does not go on: where does it wait?
 * Global: verified once.
 */
__noinline int seat_of(const struct task_ctx *t __arg_nonnull,
		       const struct artis_task_view *view __arg_nonnull, s32 cpu, u64 now)
{
	struct artis_cpu *record = cpu_record(cpu);
	enum artis_rank rank = artis_rank(view, t->by_interrupt, t->owed);
	struct artis_found at = { .in_front = local_queued(cpu) };
	enum artis_seat seat;

	if (!artis_may_take_over(view))
		return artis_seat_again(rank, at.in_front, t->burst_ns);
	at.running = class_hosted(cpu, record);
	at.displaces = artis_displaces_running(rank, t->deadline, t->by_interrupt, at.running,
					       &record->running, now);
	at.soon_done = artis_is_soon_done(at.running, &record->running, now);
	at.rt1_waits = rt1_waits(cpu, false);
	at.alone = artis_is_alone(view, nr_idle_nrt);
	seat = artis_seat(view, rank, &at);
	if (artis_asks_first(rank, seat) && !comes_first(t, cpu))
		return artis_seat_behind(seat);
	return seat;
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
	case ARTIS_SEAT_QUEUE:
		return false;
	case ARTIS_SEAT_QUEUE_ROOM:
		*makes_room = true;
		return false;
	case ARTIS_SEAT_FRONT:
		break;
	case ARTIS_SEAT_FRONT_NEXT:
		cpu_record(cpu)->next_waits = true;
		how = SCX_ENQ_HEAD;
		break;
	case ARTIS_SEAT_FRONT_PREEMPT:
		how = SCX_ENQ_PREEMPT;
		break;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, artis_slice_ns(false), enq_flags | how);
	return true;
}

#endif /* ARTIS_SEAT_H */
