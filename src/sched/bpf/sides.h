/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether somebody waits, and whether an RT CPU is there for one.
 */
#ifndef ARTIS_SIDES_H
#define ARTIS_SIDES_H

/* Does @cpu have a task of ours, @running (see class_on()) or displaced? */
static bool hosts(s32 cpu, enum artis_class running)
{
	return artis_is_ours(running) || local_queued(cpu);
}

/* Linux tasks in the queues of all caches, for NRT CPUs or for @both sides. */
static u32 linux_queued_anywhere(bool both)
{
	u32 llc, tasks = 0;

	if (!has_llcs())
		return linux_queued(both, 0);
	bpf_for(llc, 0, nr_llcs)
		tasks += linux_queued(both, llc);
	return tasks;
}

/* What @cpu, an RT CPU where a task of @running runs, is for @p. */
static enum artis_offer offer_of(s32 cpu, enum artis_class running, const struct task_struct *p,
				 const struct task_ctx *t, u64 now)
{
	const struct artis_cpu *record = cpu_record(cpu);
	enum artis_class class = class_of(p);
	bool behind;

	if (artis_is_rt1(class))
		behind = artis_rt1_is_behind(artis_rt1_level(p->static_prio), t->rt1_had,
					     record->rt1_level,
					     record->rt1_had +
						     artis_ran_ns(&record->running, now));
	else
		behind = artis_vtime_before(t->deadline + owed_much(p, t),
					    artis_running_vtime(&record->running, now));
	return artis_offer(class, hosts(cpu, running), record->hosted_class,
			   behind && artis_pays_to_move(&t->calls));
}

/* The best that an RT CPU offers @p, which may run there. Global: verified once. */
__noinline int best_offer(struct task_struct *p __arg_trusted,
			  const struct task_ctx *t __arg_nonnull, u64 now)
{
	enum artis_offer best = ARTIS_OFFER_NONE;
	u32 i;

	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		enum artis_offer offer;

		if (cpu_record(cpu)->offline || !may_use(p, cpu))
			continue;
		offer = offer_of(cpu, class_on(cpu), p, t, now);
		if (offer > best)
			best = offer;
	}
	return best;
}

/* Has the idle RT CPUs look, if a task waits: an earlier wakeup would have met RT0's timer. */
static void wake_rt_side(void)
{
	u32 i;

	if (!waiting(DSQ_BOTH_RT1) && !linux_queued_anywhere(true))
		return;
	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		const struct artis_cpu *record = cpu_record(cpu);

		if (artis_may_wake_rt(record->offline, rt0_runnable(cpu)) &&
		    !hosts(cpu, class_on(cpu)) &&
		    !rt0_due(cpu, artis_idle_switch_ns(record->switch_ns)))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
}

/* Does anybody wait, who may run on @cpu, an NRT CPU, or on any other one? */
static bool somebody_waits(s32 cpu)
{
	return waiting(DSQ_NRT_KTHREAD) || rt1_waits(cpu, false) || pinned_queued(cpu) ||
	       linux_queued_anywhere(false) || linux_queued_anywhere(true);
}

#endif /* ARTIS_SIDES_H */
