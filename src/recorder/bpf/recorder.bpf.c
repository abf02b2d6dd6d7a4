// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flight recorder: what each CPU did a moment ago, and which wakeups of
 * watched threads were late.
 *
 * (a) Each CPU writes events into its own ring, over the oldest. Nothing is
 *     allocated, no lock is taken that another CPU may hold, nobody is woken up.
 *     An interrupt that comes while an event is written takes the next place.
 * (b) A watched thread has a record of when it was due: the expiry of the timer
 *     in whose handler it is woken, or else the moment it is woken. When it is
 *     back in user mode, and worse than the bar, a mark is written. The same is
 *     done for locks that it waits for, and for what an activation loses.
 * (c) The keeper in user space looks at the marks now and then and copies the
 *     rings' parts. A ring is some hundred thousand microseconds long even at
 *     200,000 events a second, so it has the time; what was overwritten first
 *     is seen by its number. So nothing is copied on the way of a thread that is
 *     late already, and the rings of all CPUs are kept, not only its own: what
 *     made it late may have happened on another.
 *
 * (d) From about 7.0 on a task may be preempted within the hooks of system calls, and
 *     on all kernels within the hook at the end of a page fault. The kernel does not
 *     run a program on top of itself: the thread that comes would not be seen. So
 *     these three programs are there twice. Where the first did not run, the second
 *     one does its work, and what both miss is counted.
 *
 * What it does not see: its own hook being interrupted by the same hook (the
 * kernel does not run a program on top of itself, and counts it), what the
 * processor does without the kernel (firmware, hypervisor), and the last
 * instructions between a system call's tracepoint and user mode.
 *
 * Every program is a tracepoint, or fexit: the loader attaches those that the
 * kernel has.
 */
#include "kernel.h"
#include "recorder.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

/*
 * A stack is taken of the task that had a CPU when a timer or a woken thread waited longer for it
 * than this, if it is a part of some size of a loss above the bar. It costs as much as thirty
 * events. Of a task that was on its way to user mode a stack shows no more than its system call.
 */
const volatile u64 stack_after_ns = 20000;
/* Is there a hook at the end of a page fault? */
const volatile bool faults_end = true;
/* The number of futex(2). */
const volatile s64 futex_number = 202;
/* The address of delayed_work_timer_fn(); 0: unknown. */
const volatile u64 delayed_work_timer = 0;
/* That of sched_cfs_period_timer(), which gives a cgroup its CPU time again; 0: unknown. */
const volatile u64 limit_timer = 0;
/* Where the code begins and ends that an interrupt of the timer enters by; 0: unknown. */
const volatile u64 timer_entry = 0;
const volatile u64 timer_entry_end = 0;
/*
 * A bit for each system call. Asleep in one of the first a thread waits for its next activation,
 * whatever it may be; in one of the second it does if its activation did not begin with a timer.
 */
const volatile u64 idle_calls[8] = {};
const volatile u64 event_calls[8] = {};

const volatile struct recorder_names names = {};

/* From CLOCK_MONOTONIC to each clock, as its last timer had it; first as the keeper reads it. */
u64 clock_offset_ns[RECORDER_CLOCKS];

/* Lost times above it are marked. Raised by the keeper. */
u64 bar_ns;
/* A lost time above it ends the recording. */
u64 until_ns = ~0ULL;
u32 stopped;

struct recorder_cpu cpus[RECORDER_CPUS_MAX];

/* The loader sets their sizes: one part for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RECORDER_EVENTS);
	__type(key, u32);
	__type(value, struct recorder_event);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RECORDER_MARKS);
	__type(key, u32);
	__type(value, struct recorder_mark);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RECORDER_STACKS);
	__type(key, u32);
	__type(value, struct recorder_stack);
} stacks SEC(".maps");

/*
 * A bit for the number of each watched thread, never cleared: who has none is not watched, which
 * costs no look into the map. Set before the thread is in the map.
 */
u64 numbers[RECORDER_NUMBERS / 64];

/* Threads of this name are watched, or of names that begin with it; empty: none are by name. */
char wanted[RECORDER_NAME];
u32 wanted_length;
u32 wanted_begin;

/* thread id -> its record; all room is taken when it is made */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RECORDER_THREADS_MAX);
	__type(key, u32);
	__type(value, struct recorder_thread);
} threads SEC(".maps");

/* The registers that the interrupt saved which is handled; none outside of one. */
extern struct pt_regs *__irq_regs __ksym __weak;

/* include/uapi/asm-generic/signal.h: a stop's end, and stops */
enum {
	SIGCONT = 18,
	SIGTTOU = 22,
};

/* What fits into the event of a switch. */
#define SCHEDULER_NS_MAX ((1 << (RECORDER_STACK_AT - RECORDER_SCHEDULER_AT)) - 1)
/* cgroups that are looked through for a limit, one within the other */
#define RECORDER_GROUPS 8

#include "ring.h"
#include "activation.h"
#include "scheduling.h"
#include "interrupts.h"
#include "calls.h"
#include "work.h"
#include "threads.h"
