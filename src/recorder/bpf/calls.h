/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls and page faults of watched threads.
 */
#ifndef ARTIS_RECORDER_CALLS_H
#define ARTIS_RECORDER_CALLS_H

/* futex(2): operations that wait for a lock; the value of a lock that is taken and waited for */
enum {
	FUTEX_WAIT = 0,
	FUTEX_LOCK_PI = 6,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_LOCK_PI2 = 13,
	FUTEX_COMMAND = 127,
	FUTEX_TAKEN_AND_WAITED_FOR = 2,
};

/* include/linux/mm_types.h */
#define VM_FAULT_RETRY 0x400U

/* Of a watched thread, the begin or the end of a system call or of a page fault. */
static void count_missed(struct recorder_cpu *cpu)
{
	__sync_fetch_and_add(&cpu->missed, 1);
}

/* The thread that has this CPU, if it is watched, in a system call of its own. */
static struct recorder_thread *watched_in_call(struct recorder_cpu *cpu)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (came_untraced(cpu, current))
		notice_untraced(cpu, current);
	return watched(cpu);
}

/* pid: who; a: which; b: its first argument; other: whether it asks for a lock. */
static __always_inline void call_begins_of(struct pt_regs *regs, long id, bool again)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_thread *thread = watched_in_call(cpu);
	struct recorder_event *event;
	u64 number;

	if (!thread)
		return;
	if (again && thread->in_call == RECORDER_IN_CALL)
		return;
	event = begin(cpu, RECORDER_SYS_ENTER);
	if (!event)
		return;
	number = event->a;
	if (thread->in_call == RECORDER_IN_CALL) {
		/* The end of the last one was not seen, and so not when its wakeup ended. */
		count_missed(cpu);
		thread->pending = 0;
	}
	thread->in_call = RECORDER_IN_CALL;
	thread->call = id;
	thread->call_ns = event->ns;
	thread->end_ns = 0;
	thread->lock_ns = 0;
	if (thread->fault_ns)
		count_missed(cpu);	/* its end was not seen */
	thread->fault_ns = 0;
	event->pid = cpu->watched;
	event->a = id;
	event->b = ARCH_ARGUMENT_1(regs);
	if (id == futex_number) {
		u32 command = (u32)ARCH_ARGUMENT_2(regs) & FUTEX_COMMAND;
		u32 value = (u32)ARCH_ARGUMENT_3(regs);
		bool inherits = command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;

		if (inherits || ((command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
				 value == FUTEX_TAKEN_AND_WAITED_FOR)) {
			event->other = inherits ? 2 : 1;
			thread->lock_ns = event->ns;
			thread->lock_address = event->b;
		}
	}
	done(event, number);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, struct pt_regs *regs, long id)
{
	call_begins_of(regs, id, false);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered_again, struct pt_regs *regs, long id)
{
	call_begins_of(regs, id, true);
	return 0;
}

static __always_inline void call_ends_of(long result, bool again)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_thread *thread = watched_in_call(cpu);
	struct recorder_event *event;
	u64 number, now;

	if (!thread)
		return;
	if (again && thread->in_call == RECORDER_USER_MODE)
		return;
	event = begin(cpu, RECORDER_SYS_EXIT);
	if (!event)
		return;
	number = event->a;
	if (thread->in_call == RECORDER_USER_MODE)
		count_missed(cpu);
	now = event->ns;
	event->pid = cpu->watched;
	event->a = result;
	done(event, number);
	thread->in_call = RECORDER_USER_MODE;
	if (thread->pending)
		returned(cpu, thread, bpf_get_current_task_btf(), now);
	thread->lock_ns = 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_left, struct pt_regs *regs, long result)
{
	call_ends_of(result, false);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_left_again, struct pt_regs *regs, long result)
{
	call_ends_of(result, true);
	return 0;
}

/* pid: whose; what: 1 in user mode; a: address. */
static void fault_begins(bool user, u64 address)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_thread *thread = watched(cpu);
	struct recorder_event *event;
	u64 number;

	if (!thread)
		return;
	event = begin(cpu, RECORDER_FAULT);
	if (!event)
		return;
	number = event->a;
	event->what = user;
	event->pid = cpu->watched;
	event->a = address;
	if (user && faults_end)
		thread->fault_ns = event->ns;
	thread->end_ns = 0;
	done(event, number);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(user_fault, unsigned long address)
{
	fault_begins(true, address);
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(kernel_fault, unsigned long address)
{
	fault_begins(false, address);
	return 0;
}

/* @begun: only a fault in user mode whose begin was seen, and whose end was not yet. */
static __always_inline void fault_ends(bool begun)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_thread *thread = watched(cpu);
	struct recorder_event *event;
	u64 number;

	if (!thread)
		return;
	if (begun && !thread->fault_ns)
		return;
	event = begin(cpu, RECORDER_FAULT_DONE);
	if (!event)
		return;
	number = event->a;
	event->pid = cpu->watched;
	event->a = 0;
	if (thread->fault_ns) {
		if (thread->began_ns && event->ns > thread->fault_ns)
			thread->lost_ns += event->ns - thread->fault_ns;
		thread->fault_ns = 0;
		thread->pending = 0;
		thread->off_ns = 0;
	}
	done(event, number);
}

/* A fault that had to release a lock is tried again: still the same fault. */
SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_handled, struct vm_area_struct *area, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, u32 result)
{
	if (!(result & VM_FAULT_RETRY))
		fault_ends(false);
	return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_handled_again, struct vm_area_struct *area, unsigned long address,
	     unsigned int flags, struct pt_regs *regs, u32 result)
{
	if (!(result & VM_FAULT_RETRY))
		fault_ends(true);
	return 0;
}

/* A fault at an address where there is no memory ends like this. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(signalled)
{
	fault_ends(true);
	return 0;
}

/*
 * For kernels that let no program wait for the end of a function: perf's own count of
 * page faults, which the kernel raises when one is done. The loader opens the events.
 */
SEC("perf_event")
int fault_counted(void *ctx)
{
	fault_ends(true);
	return 0;
}

#endif /* ARTIS_RECORDER_CALLS_H */
