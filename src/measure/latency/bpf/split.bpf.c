// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splits a wakeup latency: timer due -> handler runs -> task runs.
 *
 * The first part is what Piel and others (section 3.1) call kernel latency. The
 * task sees only the sum of both; the handler's moment is seen here.
 *
 * (a) When the kernel begins to handle an expired hrtimer, its due time and the
 *     time now are noted for this CPU, until the handler is done.
 * (b) When a measuring thread is about to be woken while a note is there, the
 *     note is copied into the thread's slot. The slots are mapped into the
 *     measuring process, where the thread reads its own when it runs: no system
 *     call and no lock in the path that is measured.
 *
 * Sleeps, timerfd and /dev/rtc alike end in an hrtimer whose handler wakes the
 * task: the kernel emulates the periodic interrupt of an RTC with one too.
 * Typed tracepoints serve because they need neither tracefs nor ftrace, and no
 * kernel function whose name may change.
 *
 * What it does not see: wakeups that no hrtimer's handler makes itself, so none
 * handed on by another thread. The due time is in the timer's own clock: a timer
 * of another clock than CLOCK_MONOTONIC is not noted. The kernel does not run a
 * program on top of itself: an expiry that interrupts the few instructions of
 * (a) for a soft timer is missed, and the thread's slot then tells another
 * timer's times or keeps the old ones. The reader, who knows what it asked for,
 * can compare the due time.
 */
#include "kernel.h"
#include "split.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* Where a timer is handled. A hard one may interrupt the handler of a soft one. */
enum split_context {
	SPLIT_HARD,
	SPLIT_SOFT,	/* in the timer softirq, on PREEMPT_RT in its thread */
	SPLIT_CONTEXTS,
};

struct split_note {
	u64 timer;	/* address of the timer that is being handled; 0: none */
	u64 due_ns;
	u64 handler_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SPLIT_CONTEXTS);
	__type(key, u32);
	__type(value, struct split_note);
} notes SEC(".maps");

/* The loader sets the size of both: the number of measuring threads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct split_slot);
} slots SEC(".maps");

/* thread id -> index of its slot */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} threads SEC(".maps");

static struct split_note *note_of(enum split_context context)
{
	u32 key = context;

	return bpf_map_lookup_elem(&notes, &key);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(handler_begins, struct hrtimer *timer)
{
	struct split_note *note = note_of(timer->is_soft ? SPLIT_SOFT : SPLIT_HARD);

	if (!note)
		return 0;
	if (timer->base->clockid != CLOCK_MONOTONIC) {
		note->timer = 0;
		return 0;
	}
	note->due_ns = timer->_softexpires;
	note->handler_ns = bpf_ktime_get_ns();
	note->timer = (u64)timer;
	return 0;
}

/* The handler may have freed the timer: only its address is used. */
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(handler_ended, struct hrtimer *timer)
{
	struct split_note *hard = note_of(SPLIT_HARD);
	struct split_note *soft = note_of(SPLIT_SOFT);

	if (hard && hard->timer == (u64)timer)
		hard->timer = 0;
	if (soft && soft->timer == (u64)timer)
		soft->timer = 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	struct split_note *note = note_of(SPLIT_HARD);
	struct split_slot *slot;
	u32 thread, *index;

	/* Most wakeups of a busy machine end here. */
	if (!note || !note->timer)
		note = note_of(SPLIT_SOFT);
	if (!note || !note->timer)
		return 0;
	thread = task->pid;
	index = bpf_map_lookup_elem(&threads, &thread);
	if (!index)
		return 0;
	slot = bpf_map_lookup_elem(&slots, index);
	if (!slot)
		return 0;
	/* the task's pi_lock is held: nobody else writes, and nobody reads before the task runs */
	slot->due_ns = note->due_ns;
	slot->handler_ns = note->handler_ns;
	slot->wakeups++;
	return 0;
}
