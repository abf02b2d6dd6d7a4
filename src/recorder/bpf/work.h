/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, works, memory that is taken back, idle states, and how long the scheduler itself takes.
 */
#ifndef ARTIS_RECORDER_WORK_H
#define ARTIS_RECORDER_WORK_H

/* a: the lock; what: its flags. */
SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begins, void *lock, unsigned int flags)
{
	record(this_cpu(), RECORDER_CONTENTION_BEGIN, flags, (u64)lock);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_ends, void *lock)
{
	record(this_cpu(), RECORDER_CONTENTION_END, 0, (u64)lock);
	return 0;
}

/* a: the function. */
SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(work_begins, struct work_struct *work)
{
	record(this_cpu(), RECORDER_WORK_START, 0, (u64)work->func);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(work_ends)
{
	record(this_cpu(), RECORDER_WORK_END, 0, 0);
	return 0;
}

/* pid: who takes memory back before it gets any; what: enum recorder_reclaim. */
static void reclaims(u16 kind, u16 which)
{
	struct recorder_event *event = begin(this_cpu(), kind);
	u64 number;

	if (!event)
		return;
	number = event->a;
	event->what = which;
	event->pid = bpf_get_current_task_btf()->pid;
	done(event, number);
}

#define RECLAIM(hook, which)									   \
	SEC("tp_btf/mm_" #hook "_begin")							   \
	int BPF_PROG(hook##_begins)								   \
	{											   \
		reclaims(RECORDER_RECLAIM, which);						   \
		return 0;									   \
	}											   \
	SEC("tp_btf/mm_" #hook "_end")								   \
	int BPF_PROG(hook##_ends)								   \
	{											   \
		reclaims(RECORDER_RECLAIM_DONE, which);						   \
		return 0;									   \
	}

RECLAIM(vmscan_direct_reclaim, RECORDER_MACHINE)
RECLAIM(vmscan_memcg_reclaim, RECORDER_CGROUP)
RECLAIM(compaction, RECORDER_COMPACTION)

/* a: the idle state; all bits: it ends. */
SEC("tp_btf/cpu_idle")
int BPF_PROG(idles, unsigned int state)
{
	record(this_cpu(), RECORDER_IDLE, 0, state);
	return 0;
}

/* What it takes until a switch stands in the event of that. */
SEC("tp_btf/sched_entry_tp")
int BPF_PROG(scheduler_begins)
{
	this_cpu()->scheduler_ns = bpf_ktime_get_ns();
	return 0;
}

/* After a switch it says when a watched thread goes on. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(scheduler_ends, bool switched)
{
	struct recorder_cpu *cpu = this_cpu();

	if (cpu->watched && switched)
		record(cpu, RECORDER_SCHED_EXIT, 0, 0);
	return 0;
}

#endif /* ARTIS_RECORDER_WORK_H */
