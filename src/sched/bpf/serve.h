/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is next on a CPU: dispatch.
 *
 * Kernel threads that woke up, then RT1+ tasks, then everybody else by virtual
 * time. An RT CPU takes from the RT queues only; an NRT CPU from all of them.
 */
#ifndef ARTIS_SERVE_H
#define ARTIS_SERVE_H

static u64 vtime_of(struct task_struct *p)
{
	const struct task_ctx *t = task_ctx(p);

	return t ? t->vtime : 0;
}

/*
 * To take a task locks the run queue of the CPU where it was. Is that another CPU,
 * an RT CPU whose RT0 is about to wake up, or does? Then it can wait a moment.
 */
static bool meets_rt0(struct task_struct *p, u64 now)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *t;

	if (!is_rt(cpu) || cpu == (s32)bpf_get_smp_processor_id())
		return false;
	t = task_ctx(p);
	if (!t || !artis_may_pass_over(now, t->runnable_at_ns))
		return false;
	return rt0_runnable(cpu) || switch_meets_rt0(cpu);
}

/*
 * Takes the first task of @dsq_id, or one close behind it if that would meet RT0
 * elsewhere; if they all would, the first.
 */
static bool take(u64 dsq_id, u64 enq_flags, u64 now)
{
	struct task_struct *p;
	u32 passed = 0;

	if (!artis_may_pass_over(now, left_rt_ns))
		return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
	p = scx_bpf_dsq_peek(dsq_id);
	if (!p)
		return false;
	if (!meets_rt0(p, now))
		return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		if (!meets_rt0(p, now) && scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, enq_flags))
			return true;
		if (++passed > ARTIS_PASSED_OVER_MAX)
			break;
	}
	return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
}

/* Takes a kernel thread that woke up and may run on this CPU only. */
static bool take_kthread(s32 cpu, struct artis_cpu *record)
{
	if (!record->kthread_queued)
		return false;
	if (scx_bpf_dsq_move_to_local(DSQ_KTHREAD + cpu, 0))
		return true;
	record->kthread_queued = scx_bpf_dsq_nr_queued(DSQ_KTHREAD + cpu) > 0;
	return false;
}

/* The first task that may run on this CPU only, or NULL. */
static struct task_struct *first_pinned(s32 cpu, struct artis_cpu *record)
{
	struct task_struct *p;

	if (!record->pinned_queued)
		return NULL;
	p = scx_bpf_dsq_peek(DSQ_PINNED + cpu);
	if (!p)
		record->pinned_queued = false;
	return p;
}

/* Takes from this CPU's own queue or from @shared, whoever is first in virtual time. */
static bool take_pinned_or(u64 shared, s32 cpu, struct artis_cpu *record, u64 enq_flags, u64 now)
{
	struct task_struct *pinned = first_pinned(cpu, record), *other;

	if (!pinned)
		return take(shared, enq_flags, now);
	other = scx_bpf_dsq_peek(shared);
	if ((!other || !artis_vtime_before(vtime_of(other), vtime_of(pinned))) &&
	    scx_bpf_dsq_move_to_local(DSQ_PINNED + cpu, 0))
		return true;
	/* the first of the shared queue may not be allowed here */
	return take(shared, enq_flags, now) || scx_bpf_dsq_move_to_local(DSQ_PINNED + cpu, 0);
}

/* Is @prev, whose slice is over, still runnable and neither marked nor unknown to us? */
static bool may_go_on(const struct artis_cpu *record, struct task_struct *prev)
{
	struct task_ctx *t;

	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED) || record->marked_pid == (u32)prev->pid)
		return false;
	t = task_ctx(prev);
	/* with a cause: RT0 came as it was to leave, and has gone again */
	if (!t || t->cause != ARTIS_CAUSE_NONE)
		return false;
	/* on an RT CPU: in user mode, or allowed nowhere else; with no NRT CPU left, anybody */
	if (record->rt && nr_nrt_online)
		return is_bound_to_rt(t) || t->rt_ok;
	/* promoted a moment ago: ops.enqueue() is to have it */
	return !t->promote;
}

/* @prev is the next one, too: there is no switch. */
static void go_on(struct artis_cpu *record, struct task_struct *prev, u64 slice_ns)
{
	drop_switch(record);
	scx_bpf_task_set_slice(prev, slice_ns);
}

/*
 * RT1+ tasks come first, except that the others, if any wait for this side
 * (@others_dsq) or this CPU, get a slice now and then. Takes an RT1+ task from
 * @rt1_dsq or lets @prev go on, which is in no queue yet; false: it is the others'
 * turn, or no RT1+ task is here.
 */
static __always_inline bool take_rt1(s32 cpu, struct artis_cpu *record, struct task_struct *prev,
				     u64 rt1_dsq, u64 others_dsq, u64 slice_ns, u64 enq_flags,
				     u64 now)
{
	bool waits = rt1_seen && scx_bpf_dsq_nr_queued(rt1_dsq);
	bool runs = rt1_seen && may_go_on(record, prev) && class_of(prev) == ARTIS_CLASS_RT1;

	if (!waits && !runs) {
		artis_turn_reset(&record->turn, now);
		return false;
	}
	if ((scx_bpf_dsq_nr_queued(others_dsq) || first_pinned(cpu, record)) &&
	    artis_others_turn(&record->turn, now)) {
		count(ARTIS_others_turns);
		return false;
	}
	if (waits && take(rt1_dsq, enq_flags, now))
		return true;
	if (runs)
		go_on(record, prev, slice_ns);
	return runs;
}

/*
 * Does @prev go on although its slice is over, because RT0's timer would meet the
 * switch? Until RT0 has gone, see ops.running(), or to the next tick, and once.
 */
static bool put_off(struct artis_cpu *record, struct task_struct *prev, u64 due)
{
	if (record->put_off || record->offline || !may_go_on(record, prev) ||
	    !artis_finds(due, bpf_ktime_get_ns(), record->switch_ns))
		return false;
	record->put_off = true;
	go_on(record, prev, ARTIS_SLICE_PUT_OFF_NS);
	return true;
}

static void dispatch_rt(s32 cpu, struct artis_cpu *record, struct task_struct *prev)
{
	/*
	 * Without a tick nobody hands a displaced task back: then the kernel has to,
	 * at once, which costs RT0 the time of ops.enqueue() at each wakeup.
	 */
	u64 enq_flags = record->rt_immed ? SCX_ENQ_IMMED : 0;
	u64 now = scx_bpf_now();

	if (put_off(record, prev, next_timer(cpu)))
		return;
	if (!prev || record->marked_pid != (u32)prev->pid)
		begin_switch(record);
	if (take_kthread(cpu, record))
		return;
	if (record->offline) {
		/* back, but unwatched: only who may run nowhere else */
		scx_bpf_dsq_move_to_local(DSQ_PINNED + cpu, 0);
		return;
	}
	if (take_rt1(cpu, record, prev, DSQ_RT_RT1, DSQ_RT_LINUX, ARTIS_SLICE_RT_NS, enq_flags,
		     now))
		return;
	if (take_pinned_or(DSQ_RT_LINUX, cpu, record, enq_flags, now) ||
	    (rt1_seen && scx_bpf_dsq_move_to_local(DSQ_RT_RT1, enq_flags)))
		return;
	if (may_go_on(record, prev))
		go_on(record, prev, ARTIS_SLICE_RT_NS);
}

/* Takes a Linux task that has waited too long for an RT CPU. */
static bool drain(struct artis_cpu *record, u64 now)
{
	const struct task_ctx *t;
	struct task_struct *p;

	if (!artis_look_for_waiting(&record->looked_ns, now))
		return false;
	p = scx_bpf_dsq_peek(DSQ_RT_LINUX);
	t = p ? task_ctx(p) : NULL;
	/* one without a record is in no RT queue */
	if (!t || !artis_waited_for_rt(now, t->runnable_at_ns))
		return false;
	if (!scx_bpf_dsq_move_to_local(DSQ_RT_LINUX, 0))
		return false;
	/* the next one may have waited as long */
	record->looked_ns = 0;
	count(ARTIS_drained);
	return true;
}

static void dispatch_nrt(s32 cpu, struct artis_cpu *record, struct task_struct *prev)
{
	u64 now = scx_bpf_now(), rt1_dsq = DSQ_NRT_RT1;

	if (take_kthread(cpu, record) ||
	    (scx_bpf_dsq_peek(DSQ_NRT_KTHREAD) && scx_bpf_dsq_move_to_local(DSQ_NRT_KTHREAD, 0)))
		return;
	/* an RT1+ task that an RT CPU cannot run now does not wait behind Linux tasks here */
	if (rt1_seen && !scx_bpf_dsq_nr_queued(DSQ_NRT_RT1) && scx_bpf_dsq_nr_queued(DSQ_RT_RT1))
		rt1_dsq = DSQ_RT_RT1;
	if (take_rt1(cpu, record, prev, rt1_dsq, DSQ_NRT_LINUX, ARTIS_SLICE_NRT_NS, 0, now)) {
		if (rt1_dsq == DSQ_RT_RT1)
			count(ARTIS_drained);
		return;
	}
	if (drain(record, now) || take_pinned_or(DSQ_NRT_LINUX, cpu, record, 0, now) ||
	    (rt1_seen && take(DSQ_NRT_RT1, 0, now)))
		return;
	if (may_go_on(record, prev)) {
		go_on(record, prev, ARTIS_SLICE_NRT_NS);
		return;
	}
	/* nothing else to do: whoever waits for an RT CPU may come, Linux tasks first */
	if (take(DSQ_RT_LINUX, 0, now) || (rt1_seen && take(DSQ_RT_RT1, 0, now)))
		count(ARTIS_drained);
}

SEC("struct_ops/artis_dispatch")
void BPF_PROG(artis_dispatch, s32 cpu, struct task_struct *prev)
{
	struct artis_cpu *record = cpu_record(cpu);

	/* with no NRT CPU left, on the way to its end, the machine needs every CPU */
	if (record->rt && nr_nrt_online)
		dispatch_rt(cpu, record, prev);
	else
		dispatch_nrt(cpu, record, prev);
}

#endif /* ARTIS_SERVE_H */
