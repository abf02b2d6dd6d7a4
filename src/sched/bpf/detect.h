/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who enters the kernel on an RT CPU, and the check that nobody works there.
 *
 * (a) Each entry hook marks the current task in the record of its CPU and makes this
 *     CPU reschedule. ops.enqueue() then queues the task for the NRT CPUs before
 *     the kernel has done its work.
 * (b) The hooks on the work itself (*_body) count what runs on an RT CPU all the
 *     same. They change nothing. Whole system calls are counted by leave(): a task
 *     that enters the kernel and is still marked made its previous call here. A
 *     task that began its work and was then moved shows in leave_ns_max. (A hook
 *     at the end of system calls would lie on RT0's way.)
 *
 * What no hook here sees: seccomp filters and system call user dispatch, which
 * come before system calls are noticed; exceptions other than page faults,
 * until they become a signal; work queued for the return to user mode
 * (task_work); interrupts, which belong to the CPU and not to the task.
 */
#ifndef ARTIS_DETECT_H
#define ARTIS_DETECT_H

/*
 * Did a system call of @p begin on the RT CPU of @record, where @p still is? Asked
 * when another one begins or @p returns to user mode: then it was made here.
 */
static bool is_in_call(const struct artis_cpu *record, const struct task_struct *p,
		       const struct task_ctx *t)
{
	if (record->marked_pid == (u32)p->pid)
		return artis_is_in_syscall(record->marked_state);
	return t && artis_is_in_syscall(t->state);
}

/*
 * Waits here for an RT0 whose timer is due before the current task could be gone: the
 * switch would hold interrupts off, and so delay RT0. Interrupts are on, preemption
 * may be off: what is done per turn, and after this, is on RT0's way. Does RT0 come?
 */
static bool let_rt0_come(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);
	u32 turn;
	s64 due;

	if (!timers || !switch_meets_rt0(cpu))
		return false;
	due = timers->expires_next;
	bpf_for(turn, 0, artis_wait_turns_max()) {
		/* by its timer, or because somebody else woke it */
		if (rt0_comes())
			return true;
		if (timers->expires_next == due)
			continue;
		/* it was another timer, for example the tick's: RT0's may be the next */
		if (!switch_meets_rt0(cpu))
			break;
		due = timers->expires_next;
	}
	/* the interrupt of a timer was here just now, RT0's or another */
	return rt0_comes();
}

/*
 * The same where interrupts are off already: waits until the timer is due, and no
 * longer than the switch would have kept them off. The timer's interrupt comes as
 * soon as they are on, before the switch and not in it. @brings: RT0 comes by it.
 */
static bool let_timer_come(s32 cpu, bool brings)
{
	u64 due = next_timer(cpu);
	u32 turn;

	if (!artis_finds(due, bpf_ktime_get_ns(), cpu_record(cpu)->switch_ns))
		return false;
	bpf_for(turn, 0, artis_wait_turns_max()) {
		if (artis_timer_is_here(due, bpf_ktime_get_ns(), brings))
			break;
	}
	return true;
}

/* Where the kernel calls a hook. */
enum entry {
	ENTRY_CALL,		/* interrupts are on */
	ENTRY_EXCEPTION,	/* they are off, and come on before the work begins */
	ENTRY_BREAKPOINT,	/* the same, and it may not ask sched_ext for anything, as in an NMI */
};

/* Asks the current task, on the CPU of @record, to leave: breakpoint_left() does it later. */
static __always_inline void ask_to_leave(struct artis_cpu *record, s32 cpu, enum entry entry)
{
	if (entry == ENTRY_BREAKPOINT)
		record->asked = true;
	else
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * Lets RT0 by before the current task leaves, as the policy says. True: that is all for
 * now, the task leaves when RT0 has gone (see ops.running()) or was asked to.
 */
static __always_inline bool let_rt0_by(struct artis_cpu *record, s32 cpu, enum entry entry)
{
	bool comes = false, brings;

	switch (artis_wait(rt0_comes(), entry == ENTRY_CALL)) {
	case ARTIS_WAIT_DONE:
		comes = true;
		break;
	case ARTIS_WAIT_FOR_RT0:
		comes = let_rt0_come(cpu);
		break;
	case ARTIS_WAIT_FOR_TIMER:
		brings = timer_brings_rt0(cpu);
		if (!let_timer_come(cpu, brings))
			return false;
		/*
		 * If it may be another's timer, the task is asked to leave at once all the same.
		 * The interrupt for that comes before the timer's, and takes as long as a tenth of
		 * RT0's wakeup.
		 */
		if (!brings)
			ask_to_leave(record, cpu, entry);
		return true;
	}
	if (comes && artis_gives_up_rest(rt0_may_be_taken(cpu))) {
		if (entry == ENTRY_BREAKPOINT)
			record->asked = true;
		else
			end_slice_here(bpf_get_current_task_btf());
	}
	return comes;
}

/* The current task enters the kernel on the RT CPU of @record. @state: it leaves, and why. */
static __always_inline void leave(struct artis_cpu *record, struct task_struct *p,
				  enum artis_state state, enum artis_counter counter,
				  enum entry entry)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct task_ctx *t;

	if (is_exempt(p))
		return;
	record->calls++;
	t = task_ctx(p);
	if (is_bound(t)) {
		record->count[ARTIS_entries_bound]++;
		return;
	}
	record->count[counter]++;
	if (is_in_call(record, p, t))
		record->count[ARTIS_leaks_syscall]++;
	if (record->marked_pid != (u32)p->pid)
		record->marked_ns = scx_bpf_now();
	if (t)
		t->state = state;
	if (artis_may_let_rt0_by(t, record->stay)) {
		record->marked_pid = 0;
		if (let_rt0_by(record, cpu, entry))
			return;
	}
	record->marked_pid = p->pid;
	record->marked_state = state;
	begin_switch(record);
	ask_to_leave(record, cpu, entry);
}

static __always_inline void entered(enum artis_state state, enum artis_counter counter,
				    enum entry entry)
{
	struct artis_cpu *record = cpu_record(bpf_get_smp_processor_id());

	if (!on)
		return;
	if (record->rt)
		leave(record, bpf_get_current_task_btf(), state, counter, entry);
	else
		record->calls++;
}

/*
 * The functions from which the kernel calls that of each system call, by way of breakpoint
 * registers: each CPU has its own, and artis sets them on RT CPUs only, so the others pay
 * nothing. It runs in the exception, with interrupts off. The answer 1 makes perf raise an
 * interrupt, which comes when the exception ends and before the function has done anything.
 */
SEC("perf_event")
int breakpoint_entry(void *ctx)
{
	struct artis_cpu *record = cpu_record(bpf_get_smp_processor_id());

	entered(ARTIS_STATE_LEAVES_SYSCALL, ARTIS_entries_syscall, ENTRY_BREAKPOINT);
	return record->asked;
}

/* In that interrupt. RT0 may have come before it: then its task is asked when that runs again. */
SEC("fentry/perf_pending_irq")
int BPF_PROG(breakpoint_left)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct artis_cpu *record = cpu_record(cpu);

	if (!record->asked)
		return 0;
	record->asked = false;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

/*
 * The system call tracepoint, by way of perf. artis opens a counting perf event for
 * it on each RT CPU, so the kernel gets here on RT CPUs only, and the others pay for
 * a test of an empty list. Programs on the tracepoint itself would run on every
 * CPU: several hundred instructions a call, against 104 of this.
 *
 * perf holds preemption off around this function, so the switch happens after the
 * program has ended, where the task may migrate. (A tp_btf or raw_tp program is
 * itself preempted, and its task bound to the CPU.)
 */
SEC("fentry/perf_tp_event")
int BPF_PROG(syscall_entry, u16 event_type)
{
	if (event_type == sys_enter_id)
		entered(ARTIS_STATE_LEAVES_SYSCALL, ARTIS_entries_syscall, ENTRY_CALL);
	return 0;
}

/*
 * The same for CPUs with context tracking (nohz_full), where it costs the other
 * CPUs nothing. Interrupts are off here.
 */
SEC("tp_btf/user_exit")
int BPF_PROG(user_exit_entry, int unused)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (ARCH_CALL(regs) >= 0)
		entered(ARTIS_STATE_LEAVES_SYSCALL, ARTIS_entries_syscall, ENTRY_EXCEPTION);
	return 0;
}

/* Interrupts are still off: the switch happens when they come on, before the fault is handled. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_entry, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	entered(ARTIS_STATE_LEAVES_FAULT, ARTIS_entries_fault, ENTRY_EXCEPTION);
	return 0;
}

/*
 * A kprobe runs with preemption off and the switch comes after it, as it must. But it
 * may not call sched_ext. So it leaves the reason in the CPU's record and calls a
 * helper that nobody needs. A second program, on the entry of that helper, does the
 * work. Both functions are called with interrupts on, and ftrace, which their
 * entries use, leaves them on. If they were off, a wait would end by its limit.
 */
static void enter_by_helper(enum artis_state state)
{
	struct artis_cpu *record = cpu_record(bpf_get_smp_processor_id());

	if (!on || !record->rt)
		return;
	record->helper_state = state;
	bpf_get_numa_node_id();
}

SEC("kprobe/" ARCH_DELIVERS_SIGNALS)
int signal_entry(void *ctx)
{
	enter_by_helper(ARTIS_STATE_LEAVES_SIGNAL);
	return 0;
}

/*
 * An exception that is no page fault becomes a signal to its own task, by one of these two.
 * With PREEMPT_RT the lock of the process's signals sleeps, so the task must go before it.
 */
SEC("kprobe/force_sig")
int exception_entry(void *ctx)
{
	enter_by_helper(ARTIS_STATE_LEAVES_SIGNAL);
	return 0;
}

SEC("kprobe/force_sig_fault")
int exception_entry_at(void *ctx)
{
	enter_by_helper(ARTIS_STATE_LEAVES_SIGNAL);
	return 0;
}

/* Before a traced task's system call, and so before the tracepoint. */
SEC("kprobe/ptrace_notify")
int tracer_entry(void *ctx)
{
	enter_by_helper(ARTIS_STATE_LEAVES_TRACER);
	return 0;
}

SEC("fentry/bpf_get_numa_node_id")
int BPF_PROG(helper_entry)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct artis_cpu *record = cpu_record(cpu);
	enum artis_state state = record->helper_state;

	/* see grace_period.h */
	if (is_to_be_held(bpf_get_current_task_btf()))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	record->helper_state = 0;
	switch (state) {
	case ARTIS_STATE_LEAVES_SIGNAL:
		entered(state, ARTIS_entries_signal, ENTRY_CALL);
		break;
	case ARTIS_STATE_LEAVES_TRACER:
		entered(state, ARTIS_entries_tracer, ENTRY_CALL);
		break;
	default:
		break;
	}
	return 0;
}

/* The kernel begins to work for the current task: on an RT CPU that is a leak. */
static void body(enum artis_counter counter)
{
	struct artis_cpu *record = cpu_record(bpf_get_smp_processor_id());
	struct task_struct *p;
	struct task_ctx *t;

	if (!record->rt || !on)
		return;
	p = bpf_get_current_task_btf();
	t = task_ctx(p);
	if (is_exempt(p) || (t && !artis_is_leak(t->affinity, t->state)))
		return;
	record->count[counter]++;
}

/*
 * The check that belongs to user_exit_entry and, like it, costs other CPUs nothing.
 * It is the weaker check: a task that returns to user mode and is still marked made
 * the whole call here, but a task that left half-way goes unnoticed.
 */
SEC("tp_btf/user_enter")
int BPF_PROG(user_enter_body, int unused)
{
	struct artis_cpu *record = cpu_record(bpf_get_smp_processor_id());
	struct task_struct *p;
	struct task_ctx *t;

	if (!on || !record->rt)
		return 0;
	p = bpf_get_current_task_btf();
	t = task_ctx(p);
	if (!is_in_call(record, p, t))
		return 0;
	record->marked_pid = 0;
	if (t)
		t->state = artis_state_returned(t->state);
	record->count[ARTIS_leaks_syscall]++;
	return 0;
}

/* A fault taken inside a system call is part of that call. */
SEC("fentry/handle_mm_fault")
int BPF_PROG(fault_body, struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	if (flags & FAULT_FLAG_USER)
		body(ARTIS_leaks_fault);
	return 0;
}

SEC("fentry/get_signal")
int BPF_PROG(signal_body)
{
	body(ARTIS_leaks_signal);
	return 0;
}

#endif /* ARTIS_DETECT_H */
