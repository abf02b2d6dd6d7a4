// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the jobs of a few threads: how long each executes, and how long it takes.
 *
 * (a) A job begins when its thread is woken, and ends when the thread sleeps again.
 *     A thread that is preempted, or that the kernel holds back because its
 *     reservation is used up, is still in its job. So is one that waits without being
 *     interruptible: for a page.
 * (b) It executes while it has the CPU. Interrupts that come meanwhile are in it.
 *
 * (c) A thread that is not done by its next event does not sleep between the two jobs.
 *     What was longer than the period may be several jobs: it is divided by the most
 *     that there may be, and of its response only a period counts. So what is said is
 *     never more than the longest job was.
 *
 * What it does not see: the time from a timer's expiry to the wakeup, which is no part
 * of the response here. A thread that sleeps in the middle of a job, as for a lock,
 * counts as two jobs, each of them shorter. Of a job that was under way when the watching
 * began only what it executes from its next switch on, and no response.
 *
 * Only the thread's own CPU writes what is in a record while the thread runs, and only
 * a waker while it sleeps.
 */
#include "kernel.h"
#include "jobs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define JOBS_THREADS_MAX 1024
/* include/linux/sched.h */
#define JOBS_TASK_INTERRUPTIBLE 1

/* thread id -> its record */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JOBS_THREADS_MAX);
	__type(key, u32);
	__type(value, struct jobs_thread);
} threads SEC(".maps");

static struct jobs_thread *thread_of(u32 tid)
{
	return tid ? bpf_map_lookup_elem(&threads, &tid) : NULL;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	struct jobs_thread *thread = thread_of(p->pid);
	u64 now, distance_ns;

	/* woken while it runs, or in its job: the job goes on */
	if (!thread || thread->began_ns || thread->on_ns)
		return 0;
	now = bpf_ktime_get_ns();
	distance_ns = now - thread->last_ns;
	if (thread->last_ns && (!thread->distance_ns_min || distance_ns < thread->distance_ns_min))
		thread->distance_ns_min = distance_ns;
	thread->last_ns = now;
	thread->executed_ns = 0;
	thread->began_ns = now;
	return 0;
}

/* So many jobs there may be at most between the wakeup and now. */
static u64 jobs_until(const struct jobs_thread *thread, u64 now)
{
	u64 since_ns = thread->began_ns ? thread->began_ns : thread->watched_ns;

	if (!thread->period_ns)
		return 1;
	/* without its wakeup, one that was under way before */
	return (now - since_ns + thread->jitter_ns) / thread->period_ns + 1 + !thread->began_ns;
}

static void leaves(struct jobs_thread *thread, bool is_over, u64 now)
{
	u64 response_ns, each_ns;

	if (thread->on_ns)
		thread->executed_ns += now - thread->on_ns;
	thread->on_ns = 0;
	if (!is_over)
		return;
	/* of a job whose begin was not seen that is the part since then */
	each_ns = thread->executed_ns / jobs_until(thread, now);
	if (each_ns > thread->budget_ns)
		thread->overruns++;
	if (each_ns > thread->execution_ns_max)
		thread->execution_ns_max = each_ns;
	if (thread->began_ns) {
		response_ns = now - thread->began_ns;
		thread->jobs++;
		if (response_ns > thread->period_ns) {
			/* the next job was released before this one was done: it took that long */
			response_ns = thread->period_ns;
			thread->merged++;
		}
		if (response_ns > thread->response_ns_max)
			thread->response_ns_max = response_ns;
	}
	thread->began_ns = 0;
	thread->executed_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	bool sleeps = !preempt && prev_state & JOBS_TASK_INTERRUPTIBLE;
	struct jobs_thread *thread;

	/* the one that leaves is still the current one */
	thread = thread_of((u32)bpf_get_current_pid_tgid());
	if (thread)
		leaves(thread, sleeps, bpf_ktime_get_ns());
	thread = thread_of(next->pid);
	if (thread)
		thread->on_ns = bpf_ktime_get_ns();
	return 0;
}
