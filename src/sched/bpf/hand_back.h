/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RT0 has a CPU and a task waits behind it. In a short burst it goes on waiting, so
 * that RT0's wakeup does no more than a context switch. In a long one it is handed back
 * to ops.enqueue(), which queues it for other CPUs, see artis_stays_rt(): by the tick, or
 * by artis itself where the kernel cannot do that (see hands_back_late()), on RT CPUs.
 */
#ifndef ARTIS_HAND_BACK_H
#define ARTIS_HAND_BACK_H

/* Does @current, on @cpu, keep a task waiting, and has it been RT0 for long? */
static bool keeps_waiting(struct artis_cpu *record, s32 cpu, const struct task_struct *current)
{
	u64 now;

	if (!on || !artis_is_rt0(current->policy) || !local_queued(cpu))
		return false;
	now = scx_bpf_now();
	/* RT0 came when it displaced the task, or after another RT0 */
	if (!record->displaced_ns)
		record->displaced_ns = bpf_core_field_exists(current->sched_info.last_arrival) ?
					       current->sched_info.last_arrival :
					       now;
	return artis_hand_back(now, record->displaced_ns);
}

SEC("fentry/sched_tick")
int BPF_PROG(tick_hand_back)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct artis_cpu *record = cpu_record(cpu);

	artis_tick_note(&record->tick_ns, &record->ticked_ns, &record->ticked_jiffies,
			scx_bpf_now(), bpf_jiffies64());
	note_beset(cpu, record, bpf_get_current_task_btf());
	/* ops.enqueue() clears the record when it gets the task: until then, ask again */
	if (keeps_waiting(record, cpu, bpf_get_current_task_btf()))
		hand_back_here(cpu);
	return 0;
}

struct artis_displaced {
	s32 cpu;
	s32 pid;	/* the answer */
};

/*
 * Called by artis on kernels for which hands_back_late(), from any CPU. The answer is
 * the thread that is to be handed back, or 0. artis changes an attribute of it and so
 * makes the kernel queue it anew.
 */
SEC("syscall")
int find_displaced(struct artis_displaced *args)
{
	s32 cpu = args->cpu;
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct artis_cpu *record = cpu_record(cpu);
	const struct task_struct *p;
	const struct list_head *first;

	args->pid = 0;
	record->late_pid = 0;
	if (!rq || !rq->curr || !keeps_waiting(record, cpu, rq->curr))
		return 0;
	/* nothing is locked here: what is read may be of another task by now, and harms nobody */
	first = BPF_CORE_READ(rq, scx.local_dsq.list.next);
	p = (const void *)first - bpf_core_field_offset(struct task_struct, scx) -
	    bpf_core_field_offset(struct sched_ext_entity, dsq_list) -
	    bpf_core_field_offset(struct scx_dsq_list_node, node);
	if (first == &rq->scx.local_dsq.list)
		return 0;
	args->pid = BPF_CORE_READ(p, pid);
	record->late_pid = args->pid;
	return 0;
}

#endif /* ARTIS_HAND_BACK_H */
