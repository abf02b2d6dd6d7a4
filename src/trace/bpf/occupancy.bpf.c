// SPDX-License-Identifier: GPL-2.0-only
/*
 * The observer: where the kernel works for whom, and who has the CPUs.
 *
 * It knows no scheduler and no RT CPU: it counts on every CPU, and the reader
 * picks the CPUs of interest. So any configuration can be judged by it, and
 * artis' own counters can be checked against it.
 *
 * (a) Each way into the kernel is seen twice: where it begins (*_begun), and
 *     where the kernel's work for it starts (*_worked). Between the two a
 *     scheduler may have moved the task; that is what is observed. A system call
 *     is seen a third time when it returns, because it may have slept and been
 *     woken on another CPU.
 * (b) Each switch adds the time since the last one to the class of the task
 *     that had the CPU.
 *
 * The observer must not change what it observes: where an entry begins, a
 * scheduler may want the task off this CPU at once, so no program there runs
 * with migration disabled and preemption on. Hence the hook types: the classic
 * tracepoint and the kprobes run with preemption off, the page fault's
 * tracepoint with interrupts off. Where the work for a fault or a signal starts,
 * the CPU is fixed, and the cheaper fentry is enough.
 *
 * What it does not see: what the kernel does before a system call's tracepoint
 * (tracer's stop, seccomp), exceptions other than page faults until their
 * signal is delivered, faults on addresses that are not mapped (their SIGSEGV
 * is seen), and interrupts, which belong to the CPU and not to the task. A
 * fault taken inside a system call is part of that call.
 */
#include "kernel.h"
#include "occupancy.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

struct occupancy_cpu cpus[OCCUPANCY_CPUS_MAX];

static struct occupancy_cpu *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return cpu < OCCUPANCY_CPUS_MAX ? &cpus[cpu] : NULL;
}

static enum occupancy_class class_of(const struct task_struct *p)
{
	if (p->pid == 0)
		return OCCUPANCY_IDLE;
	if (p->flags & PF_KTHREAD)
		return OCCUPANCY_KTHREAD;
	if (p->policy == SCHED_FIFO || p->policy == SCHED_RR || p->policy == SCHED_DEADLINE)
		return OCCUPANCY_RT0;
	return OCCUPANCY_OTHER;
}

/* Only this CPU writes its record, and never in an interrupt: a plain addition is enough. */
#define COUNT_FOR_OTHERS(member)                                                                   \
	do {                                                                                       \
		struct occupancy_cpu *cpu = this_cpu();                                            \
		if (cpu && class_of(bpf_get_current_task_btf()) == OCCUPANCY_OTHER)                \
			cpu->member++;                                                             \
	} while (0)

/*
 * Returns 1, so that the event goes on to perf: others may have perf events on this
 * tracepoint, and artis has. 0 would end it here.
 */
SEC("tp/raw_syscalls/sys_enter")
int syscall_begun(void *ctx)
{
	COUNT_FOR_OTHERS(syscalls_begun);
	return 1;
}

SEC("tp/raw_syscalls/sys_exit")
int syscall_returned(void *ctx)
{
	COUNT_FOR_OTHERS(syscalls_returned);
	return 1;
}

/*
 * On each system call's own function, because the switch that calls them cannot
 * be hooked: arch/x86/entry is built without ftrace and kprobes refuse it. The
 * loader finds the functions and attaches this to all of them.
 */
SEC("kprobe.multi")
int syscall_worked(void *ctx)
{
	COUNT_FOR_OTHERS(syscalls_worked);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_begun, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	COUNT_FOR_OTHERS(faults_begun);
	return 0;
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
		COUNT_FOR_OTHERS(faults_worked);
	return 0;
}

SEC("kprobe/arch_do_signal_or_restart")
int signal_begun(void *ctx)
{
	COUNT_FOR_OTHERS(signals_begun);
	return 0;
}

SEC("fentry/get_signal")
int BPF_PROG(signal_worked)
{
	COUNT_FOR_OTHERS(signals_worked);
	return 0;
}

/*
 * The class of @prev is read now and not remembered: all the time of a task that
 * changed its policy while it ran counts for its new class.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct occupancy_cpu *cpu = this_cpu();
	u64 now = bpf_ktime_get_ns();
	enum occupancy_class class = class_of(prev);

	if (!cpu || class >= OCCUPANCY_CLASSES)
		return 0;
	/* interrupts are off and we are the only writer; the reader looks for an even, equal number */
	cpu->changes++;
	barrier();
	if (cpu->since_ns)
		cpu->ran_ns[class] += now - cpu->since_ns;
	cpu->since_ns = now;
	cpu->class = class_of(next);
	barrier();
	cpu->changes++;
	return 0;
}
