/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task used and did, told to its record and to the policy.
 *
 * Not on RT0's way: for a task that RT0 displaces ops.stopping() only notes who
 * and when, and the account is settled when the task is touched again.
 */
#ifndef ARTIS_ACCOUNT_H
#define ARTIS_ACCOUNT_H

/* Tells the policy what the running task of this CPU did since it was last told. */
static void note_calls(struct artis_cpu *record, struct task_ctx *t, u64 now)
{
	artis_calls_note(&t->calls, now - t->call_at_ns, record->calls);
	t->call_at_ns = now;
	record->calls = 0;
}

/* Accounts for what the task ran on the CPU of @record since it was last charged. */
static void charge(struct artis_cpu *record, const struct task_struct *p, struct task_ctx *t,
		   u64 now)
{
	u64 ran_ns = now - t->run_at_ns;

	t->vtime += artis_vtime_charge(ran_ns, p->scx.weight);
	t->run_at_ns = now;
	note_calls(record, t, now);
	if (!record->rt)
		return;
	record->ran_ns[class_of(p) % ARTIS_CLASSES] += ran_ns;
	t->stayed_ns += ran_ns;
}

/* Counts that RT0 ended the stay of @p on the CPU of @record, if it did, and charges for it. */
static void settle(struct artis_cpu *record, const struct task_struct *p, struct task_ctx *t)
{
	if (record->unsettled_pid != (u32)p->pid)
		return;
	record->unsettled_pid = 0;
	record->count[ARTIS_displacements]++;
	charge(record, p, t, record->displaced_ns);
	t->runnable_at_ns = record->displaced_ns;
}

#endif /* ARTIS_ACCOUNT_H */
