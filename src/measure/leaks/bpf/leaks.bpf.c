// SPDX-License-Identifier: GPL-2.0-only
/*
 * The observer: on which CPU the kernel works for whom.
 *
 * It knows no scheduler and no RT CPU: it counts on every CPU, and the reader
 * picks the CPUs of interest. So any configuration can be judged by it, and
 * artis' own counters can be checked against it.
 *
 * Each way into the kernel is seen where the kernel's work for it starts: a
 * scheduler may have moved the task on its way there. A system call is seen
 * again when it returns, because it may have slept and been woken on another
 * CPU.
 *
 * The observer must not change what it observes: a scheduler may want a task off
 * this CPU at once, so no program runs with migration disabled and preemption
 * on. Hence the hook types: the classic tracepoint and the kprobes run with
 * preemption off. Where the work for a fault or a signal starts, the CPU is
 * fixed, and the cheaper fentry is enough.
 *
 * What it does not see: what the kernel does before a system call's function
 * (tracer's stop, seccomp), exceptions other than page faults until their
 * signal is delivered, faults on addresses that are not mapped (their SIGSEGV
 * is seen), and interrupts, which belong to the CPU and not to the task. A
 * fault taken inside a system call is part of that call.
 */
#include "kernel.h"
#include "leaks.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* The process that measures: its threads become RT0 on the RT CPU, and end there. */
const volatile s32 own_tgid;

struct leaks_cpu cpus[LEAKS_CPUS_MAX];

/* Is the current task a user task, not RT0, and none of the process that measures? */
static bool is_other(void)
{
	const struct task_struct *p = bpf_get_current_task_btf();

	return p->pid && !(p->flags & PF_KTHREAD) && p->tgid != own_tgid &&
	       p->policy != SCHED_FIFO && p->policy != SCHED_RR && p->policy != SCHED_DEADLINE;
}

/* Only this CPU writes its record, and never in an interrupt: a plain addition is enough. */
#define COUNT_FOR_OTHERS(member)                                                                   \
	do {                                                                                       \
		u32 cpu = bpf_get_smp_processor_id();                                              \
		if (cpu < LEAKS_CPUS_MAX && is_other())                                            \
			cpus[cpu].member++;                                                        \
	} while (0)

/*
 * On each system call's own function, because the switch that calls them cannot
 * be hooked: arch/x86/entry is built without ftrace and kprobes refuse it. The
 * loader finds the functions and attaches this to all of them.
 */
SEC("kprobe.multi")
int syscall_worked(void *ctx)
{
	COUNT_FOR_OTHERS(syscalls);
	return 0;
}

/*
 * Returns 1, so that the event goes on to perf: others may have perf events on this
 * tracepoint, and artis has. 0 would end it here.
 */
SEC("tp/raw_syscalls/sys_exit")
int syscall_returned(void *ctx)
{
	COUNT_FOR_OTHERS(syscalls_returned);
	return 1;
}

/*
 * Called with interrupts on again, for each try: a second one has
 * FAULT_FLAG_TRIED, but for those that lost the race for their VMA's lock,
 * which count twice: too many, never too few.
 */
SEC("fentry/handle_mm_fault")
int BPF_PROG(fault_worked, struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	if ((flags & (FAULT_FLAG_USER | FAULT_FLAG_TRIED)) == FAULT_FLAG_USER)
		COUNT_FOR_OTHERS(faults);
	return 0;
}

SEC("fentry/get_signal")
int BPF_PROG(signal_worked)
{
	COUNT_FOR_OTHERS(signals);
	return 0;
}
