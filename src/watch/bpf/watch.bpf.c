// SPDX-License-Identifier: GPL-2.0-only
/*
 * The light watch: how late each wakeup of real-time threads was.
 *
 * (a) Nothing runs on the way of a wakeup. The kernel keeps an account of each task:
 *     how often and when it arrived on a CPU, and how long it was queued. This program
 *     reads it after the thread has left the CPU, in time that is no longer its own.
 * (b) A thread that leaves asleep may have a timer that is to wake it: it is in the
 *     list of this CPU's timers, and says when it is due. When the thread leaves the
 *     next time, the first arrival less that moment is how late it was.
 * (c) Where no timer is known, or somebody woke the thread before its timer did, the
 *     time from runnable to running is counted, under its own name: it says nothing of
 *     what came before the wakeup.
 *
 * The hook is the function that takes a real-time task off its CPU; it does not run when
 * another kind of task makes room for one. Where it cannot be had, each switch of tasks
 * is looked at.
 *
 * What it does not see: the switch to the thread itself, and its way to user mode. An
 * arrival is the moment when the kernel begins to look for its next task. That clock is
 * compared with the timers' at the same place of the way off the CPU, so what is said is
 * late by the time from there to the hook: less than a switch takes.
 */
#include "kernel.h"
#include "types.h"
#include "watch.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

/* The address of hrtimer_wakeup(), the handler of timers that wake a thread; 0: unknown. */
const volatile u64 sleeper_handler = 0;
/* From a CPU's run queue to its timers, both per-CPU variables; 0: unknown. */
const volatile s64 timers_from_queue = 0;
/* Kernel threads, too. */
const volatile bool kernel_threads = false;
/* All real-time threads on watched_cpus, or the wanted ones. */
const volatile bool all_threads = true;
const volatile u64 watched_cpus[WATCH_CPUS_MAX / 64] = {};
const volatile u32 wanted_processes[WATCH_WANTED] = {};
const volatile u32 wanted_threads[WATCH_WANTED] = {};
const volatile u32 wanted_count = 0;

/* What is above it is an alert; 0: nothing is. */
u64 bound_ns;
/* Wakeups of threads for which there was no room. */
u64 not_kept;
u64 alerts_head;

struct watch_alert alerts[WATCH_ALERTS];
struct watch_thread threads[WATCH_THREADS];

/* Timers that are looked at for the one of a thread, and how deep their tree may be. */
#define TIMERS_MAX 64
#define DEPTH 16

static u32 bucket_of(u64 ns)
{
	u32 power = WATCH_FIRST, i;
	u64 rest = ns >> WATCH_FIRST;

	if (!rest)
		return ns >> (WATCH_FIRST - WATCH_SUB_BITS);
	if (ns >> (WATCH_LAST + 1))
		return WATCH_BUCKETS - 1;
	for (i = 16; i; i >>= 1) {
		if (rest >> i) {
			rest >>= i;
			power += i;
		}
	}
	return WATCH_SUB * (power - WATCH_FIRST + 1) +
	       ((ns >> (power - WATCH_SUB_BITS)) & (WATCH_SUB - 1));
}

static bool is_real_time(struct task_struct *p)
{
	return p->policy == SCHED_FIFO || p->policy == SCHED_RR || p->policy == SCHED_DEADLINE;
}

static bool is_wanted(struct task_struct *p, u32 cpu)
{
	u32 i;

	if (p->flags & PF_KTHREAD && !kernel_threads)
		return false;
	/* a normal task that has borrowed a priority is none */
	if (!is_real_time(p))
		return false;
	if (all_threads)
		return cpu < WATCH_CPUS_MAX && watched_cpus[cpu / 64] >> cpu % 64 & 1;
	for (i = 0; i < WATCH_WANTED && i < wanted_count; i++) {
		if (wanted_processes[i] == (u32)p->tgid || wanted_threads[i] == (u32)p->pid)
			return true;
	}
	return false;
}

/* The place of a thread; a new one if it is wanted. NULL: it is not, or there is no room. */
static struct watch_thread *thread_of(struct task_struct *p, u64 started_ns, u32 cpu)
{
	u32 tid = p->pid, i;

	for (i = 0; i < WATCH_TRIES; i++) {
		struct watch_thread *at = &threads[(tid + i) & (WATCH_THREADS - 1)];

		if (at->tid == tid && at->started_ns == started_ns)
			return at;
	}
	if (!is_wanted(p, cpu))
		return NULL;
	for (i = 0; i < WATCH_TRIES; i++) {
		struct watch_thread *at = &threads[(tid + i) & (WATCH_THREADS - 1)];

		if (at->tid || __sync_val_compare_and_swap(&at->tid, 0, tid))
			continue;
		at->started_ns = started_ns;
		at->tgid = p->tgid;
		return at;
	}
	__sync_fetch_and_add(&not_kept, 1);
	return NULL;
}

static const struct hrtimer_cpu_base___watch *timers_of(struct rq *rq, u32 cpu)
{
	const struct hrtimer_cpu_base___watch *timers;

	if (!timers_from_queue || !sleeper_handler)
		return NULL;
	timers = bpf_core_cast((void *)((u64)rq + timers_from_queue),
			       struct hrtimer_cpu_base___watch);
	/* are they really that CPU's? */
	return timers->cpu == cpu ? timers : NULL;
}

/* Looks through a tree of timers for the one that wakes @p up. */
static bool find_timer(const struct rb_node___watch *root, struct task_struct *p, s64 *due)
{
	u64 waiting[DEPTH];
	u32 count = 1, i;

	if (!root)
		return false;
	waiting[0] = (u64)root;
	bpf_for(i, 0, TIMERS_MAX) {
		const struct hrtimer_sleeper___watch *sleeper;
		const struct rb_node___watch *node;
		u64 left, right;

		if (!count || count > DEPTH - 2)
			return false;
		count--;
		node = bpf_core_cast((void *)waiting[count & (DEPTH - 1)], struct rb_node___watch);
		sleeper = bpf_core_cast(node, struct hrtimer_sleeper___watch);
		if ((u64)sleeper->timer.function == sleeper_handler &&
		    (u64)sleeper->task == (u64)p) {
			*due = sleeper->timer._softexpires;
			return true;
		}
		left = (u64)node->rb_left;
		right = (u64)node->rb_right;
		if (right) {
			waiting[count & (DEPTH - 1)] = right;
			count++;
		}
		if (left) {
			waiting[count & (DEPTH - 1)] = left;
			count++;
		}
	}
	return false;
}

/* The timers that an interrupt handles itself: of four clocks. */
#define CLOCKS 4

/*
 * Of one of those clocks. Each case is its own: how large a member of such a list is
 * differs between kernels, so none may be found by its number.
 */
static const struct rb_node___watch *tree_of(const struct hrtimer_cpu_base___watch *timers,
					     u32 clock)
{
	switch (clock) {
	case 0:
		return timers->clock_base[0].active.rb_root.rb_root.rb_node;
	case 1:
		return timers->clock_base[1].active.rb_root.rb_root.rb_node;
	case 2:
		return timers->clock_base[2].active.rb_root.rb_root.rb_node;
	default:
		return timers->clock_base[3].active.rb_root.rb_root.rb_node;
	}
}

/* From CLOCK_MONOTONIC to such a clock. */
static s64 offset_of(const struct hrtimer_cpu_base___watch *timers, u32 clock)
{
	switch (clock) {
	case 0:
		return timers->clock_base[0].offset;
	case 1:
		return timers->clock_base[1].offset;
	case 2:
		return timers->clock_base[2].offset;
	default:
		return timers->clock_base[3].offset;
	}
}

static void note_timer(struct watch_thread *thread, const struct hrtimer_cpu_base___watch *timers,
		       struct task_struct *p)
{
	u32 clock;

	thread->due_known = 0;
	if (!timers)
		return;
	for (clock = 0; clock < CLOCKS; clock++) {
		if (!find_timer(tree_of(timers, clock), p, &thread->due))
			continue;
		thread->clock = clock;
		thread->due_known = 1;
		return;
	}
}

static void alert(struct watch_thread *thread, u64 value_ns, u64 arrived_ns, bool by_timer)
{
	u64 number = __sync_fetch_and_add(&alerts_head, 1);
	struct watch_alert *alert = &alerts[number & (WATCH_ALERTS - 1)];
	u32 i;

	alert->number = 0;
	barrier();
	alert->arrived_ns = arrived_ns;
	alert->value_ns = value_ns;
	alert->bucket = bucket_of(value_ns);
	alert->by_timer = by_timer;
	alert->tid = thread->tid;
	alert->tgid = thread->tgid;
	alert->cpu = thread->cpu;
	for (i = 0; i < WATCH_NAME; i++)
		alert->name[i] = thread->name[i];
	barrier();
	alert->number = number + 1;
}

/* A wakeup's first arrival: @offset_ns is from the account's clock to the timers'. */
static void count(struct watch_thread *thread, const struct hrtimer_cpu_base___watch *timers,
		  u64 arrived_ns, u64 queued_ns)
{
	u64 value_ns = queued_ns, *histogram = thread->queued, *max = &thread->queued_ns_max;
	bool by_timer = false;
	u32 bucket;

	if (thread->due_known && timers) {
		/* a clock that was set meanwhile moves its timers, too */
		s64 due = thread->due - offset_of(timers, thread->clock);

		/* whoever woke it before was not the timer */
		if (due > 0 && (s64)(arrived_ns - queued_ns) >= due) {
			by_timer = true;
			value_ns = arrived_ns - due;
			histogram = thread->late;
			max = &thread->late_ns_max;
		}
	}
	bucket = bucket_of(value_ns);
	if (bucket < WATCH_BUCKETS)
		histogram[bucket]++;
	if (value_ns > *max)
		*max = value_ns;
	if (!bound_ns || value_ns <= bound_ns)
		return;
	thread->above++;
	alert(thread, value_ns, arrived_ns, by_timer);
}

/* @p, a real-time thread, leaves the CPU of @rq. */
static void leaves(struct rq *rq, struct task_struct *p)
{
	const struct task_struct___watch *more = bpf_core_cast(p, struct task_struct___watch);
	u32 cpu = bpf_get_smp_processor_id();
	u64 now = bpf_ktime_get_ns();
	const struct hrtimer_cpu_base___watch *timers;
	struct watch_thread *thread;
	u64 arrivals, run_delay_ns;

	thread = thread_of(p, more->start_boottime, cpu);
	if (!thread)
		return;
	timers = timers_of(rq, cpu);
	arrivals = more->sched_info.pcount;
	run_delay_ns = more->sched_info.run_delay;
	thread->cpu = cpu;
	if (thread->asleep && arrivals == thread->arrivals + 1)
		count(thread, timers, more->sched_info.last_arrival + now - rq->clock,
		      run_delay_ns - thread->run_delay_ns);
	else if (thread->asleep)
		thread->unseen++;
	thread->asleep = !more->on_rq;
	thread->policy = p->policy;
	thread->prio = p->prio;
	thread->left_ns = now;
	*(u64 *)thread->name = *(const u64 *)p->comm;
	*(u64 *)(thread->name + 8) = *(const u64 *)(p->comm + 8);
	if (thread->asleep) {
		thread->arrivals = arrivals;
		thread->run_delay_ns = run_delay_ns;
		note_timer(thread, timers, p);
	}
}

SEC("fentry/put_prev_task_rt")
int BPF_PROG(left_fixed, struct rq *rq, struct task_struct *p)
{
	leaves(rq, p);
	return 0;
}

SEC("fentry/put_prev_task_dl")
int BPF_PROG(left_deadline, struct rq *rq, struct task_struct *p)
{
	leaves(rq, p);
	return 0;
}

/* Where those functions cannot be had. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev)
{
	if (is_real_time(prev))
		leaves(prev->se.cfs_rq->rq, prev);
	return 0;
}
