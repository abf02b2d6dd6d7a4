/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task used and did: added to its record and given to the policy.
 *
 * Not when it stops, because that is on RT0's way. The kernel knows how long each
 * task ran; artis reads that when it touches the task again.
 */
#ifndef ARTIS_ACCOUNT_H
#define ARTIS_ACCOUNT_H

/* Time that the kernel has charged @p with; with what it would charge now if @p @is_on its CPU. */
static u64 ran_ns(const struct task_struct *p, s32 cpu, bool is_on)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	if (!rq || !is_on)
		return p->se.sum_exec_runtime;
	return p->se.sum_exec_runtime + rq->clock_task - p->se.exec_start;
}

/*
 * Charges the task for the time it ran on the CPU of @record since the last charge.
 * @total_ns: see ran_ns().
 */
static void charge(struct artis_cpu *record, const struct task_struct *p, struct task_ctx *t,
		   u64 total_ns)
{
	u64 more_ns = total_ns - t->charged_ns;

	t->charged_ns = total_ns;
	t->vtime += artis_vtime_charge(more_ns, p->scx.weight);
	artis_calls_note(&t->calls, more_ns, record->calls);
	record->calls = 0;
	if (!record->rt)
		return;
	record->ran_ns[class_of(p) % ARTIS_CLASSES] += more_ns;
	t->stayed_ns += more_ns;
}

#endif /* ARTIS_ACCOUNT_H */
