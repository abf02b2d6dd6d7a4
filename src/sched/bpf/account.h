/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task used and did, told to its record and to the policy.
 *
 * Not when it stops: that is on RT0's way. The kernel keeps account of what each
 * task ran, and the account is read when the task is touched again.
 */
#ifndef ARTIS_ACCOUNT_H
#define ARTIS_ACCOUNT_H

/* What the kernel has charged @p with, and would if it did now; that @p is on its CPU, or not. */
static u64 ran_ns(const struct task_struct *p, s32 cpu, bool is_on)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	if (!rq || !is_on)
		return p->se.sum_exec_runtime;
	return p->se.sum_exec_runtime + rq->clock_task - p->se.exec_start;
}

/*
 * Accounts for what the task ran on the CPU of @record since it was last charged.
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
