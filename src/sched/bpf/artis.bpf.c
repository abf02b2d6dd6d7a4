/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ARTiS: an asymmetric real-time scheduler, as a sched_ext scheduler.
 *
 * CPUs are RT or NRT. Hard real-time tasks (RT0: SCHED_FIFO, SCHED_RR and
 * SCHED_DEADLINE) are in classes above sched_ext: they always preempt, and artis
 * never sees them. All other tasks, RT1+ (SCHED_EXT) and Linux tasks, run on an RT
 * CPU only while they are in user mode, because only there can RT0 preempt them at
 * once. Every rule and number is in policy.h. This file and its headers measure,
 * call the policy and do what it says.
 *
 * (a) Leaving. detect.h sees a task on an RT CPU enter the kernel, marks it and ends
 *     its slice. ops.enqueue() then queues it for the NRT CPUs, and the kernel
 *     works for it there.
 *
 * (b) Coming back. Only from user mode, and that is certain at one moment only: when
 *     the tick of an NRT CPU interrupted user mode. ops.tick() then asks the policy.
 *     If the answer is yes, the task becomes PROMOTED and its slice ends, and
 *     ops.enqueue() queues it for the RT CPUs: state RT. All others (tasks that
 *     wake up, new ones, tasks preempted in the kernel) go to the NRT queues. So a
 *     task in state RT is in user mode, and may go on there after RT0 displaced it.
 *
 * (c) RT0's wakeup. Nothing of ours runs in it; there is no ops.stopping(). The task
 *     that RT0 displaces stays at the head of the CPU's local queue, as the kernel
 *     leaves it, and goes on after a short burst. After a long one hand_back.h
 *     gives it to ops.enqueue(). A task that was about to leave just as RT0 came stays
 *     there too, with a rest of its slice. By that rest ops.running() recognises it when
 *     RT0 has gone, and makes it leave.
 *
 * (d) Switches. A switch of tasks keeps interrupts off while it lasts, and so delays
 *     RT0's timer. So none begins just before that timer. A task that enters the
 *     kernel waits for the timer. A task whose slice is over goes on. A kernel thread
 *     has its turn after RT0. An idle RT CPU is not woken.
 *
 * (e) Queues. Of Linux tasks, by virtual deadline: one for NRT CPUs, one of tasks in user mode
 *     for all CPUs, and one for each CPU of those that may run there only. Of RT1+ tasks the
 *     same three, by level; a CPU takes the first of its queues. Then those of kernel threads
 *     that just woke up. place.h queues a task, serve.h finds the next task of a CPU.
 *
 * (f) Answers. A Linux task that wakes up takes over the NRT CPU of one with a later
 *     deadline, or is handed the CPU of its waker, which says that it will sleep. If
 *     others wait with earlier deadlines, the first of them comes instead. One that an
 *     interrupt woke up, and that is not far ahead of its share, comes next whoever waits.
 *
 * (g) Shares. All CPUs have one virtual time. The tree of CPU cgroups is flattened into the
 *     weights of tasks (group.h).
 *
 * (h) Last-level caches, and parts of them where one has many CPUs. Where there are several,
 *     each has its own two queues of Linux tasks, and a task waits at the one where it ran.
 *     A CPU takes from its own queue. From the others' it takes, the nearest first, before it
 *     is idle, and when a task waits too long there. All other queues hold few tasks, and are
 *     for the whole machine.
 *
 * (i) CPU cgroups with limits. ops.tick() stops a task in user mode whose cgroup has used up
 *     its time: ops.enqueue() queues it apart, and artis, the process, lets it on (release.h).
 *
 * What this cannot do: bound the time of a system call that began while the task was
 * alone on a CPU it is bound to; keep interrupts and their softirqs off an RT CPU,
 * among them its tick and the wakeup of RCU's grace-period thread; see kernel work
 * of the kinds listed in detect.h; stop a task of a CPU cgroup that has used up its limit
 * before a tick finds it in user mode.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "scx.h"
/* a test compiles this with constant answers in place of the policy */
#ifndef ARTIS_POLICY
#define ARTIS_POLICY "policy.h"
#endif
#include ARTIS_POLICY
#include "intf.h"
#include "state.h"
#include "queues.h"
#include "cpu.h"
#include "rt0.h"
#include "view.h"
#include "account.h"
#include "nrt_idle.h"
#include "grace_period.h"
#include "take.h"
#include "sides.h"
#include "detect.h"
#include "beset.h"
#include "hand_back.h"
#include "select.h"
#include "seat.h"
#include "place.h"
#include "slice_timer.h"
#include "search.h"
#include "serve.h"
#include "release.h"
#include "hotplug.h"
#include "tick.h"

char _license[] SEC("license") = "GPL";

/* The task leaves the queues: notes how long it waited there. */
static void note_wait(struct artis_cpu *record, struct task_ctx *t, enum artis_class class, u64 now)
{
	u64 waited = now - t->runnable_at_ns;

	if (on && artis_wait_is_noted(class) && t->runnable_at_ns &&
	    (s64)waited > (s64)record->linux_wait_ns_max)
		record->linux_wait_ns_max = waited;
	t->runnable_at_ns = 0;
}

/* The task runs at the cache of @record: counts if it was at another one. */
static void note_llc(struct artis_cpu *record, struct task_ctx *t)
{
	if (t->llc != ARTIS_LLCS_MAX && t->llc != record->llc)
		record->count[ARTIS_far]++;
	t->llc = record->llc;
}

/* The task begins to run on the RT CPU of @record, or goes on there after RT0. */
static void running_rt(struct artis_cpu *record, struct task_struct *p, struct task_ctx *t, s32 cpu,
		       bool displaced)
{
	struct artis_task_view view = view_fixed(p, t);
	enum artis_event event = displaced ? ARTIS_EVENT_GOES_ON : ARTIS_EVENT_BEGINS;
	bool is_over = stay(record, p, event) == ARTIS_ACTION_END;

	if (displaced) {
		record->count[ARTIS_displacements]++;
		drop_switch(record);
	} else {
		end_switch(record);
	}
	switch (artis_going(is_over, kthread_waits(cpu, view.class),
			   on && artis_has_sides(nr_nrt_online) && artis_must_leave(&view))) {
	case ARTIS_GOING_NOT:
		return;
	case ARTIS_GOING_UNLESS_DUE:
		if (switch_meets_rt0(cpu))
			return;
		break;
	case ARTIS_GOING_NOW:
		break;
	}
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * Not always on the task's own CPU: whoever changes the class or the nice value of a
 * task that runs elsewhere stops it there, and makes it run again.
 */
SEC("struct_ops/artis_running")
void BPF_PROG(artis_running, struct task_struct *p)
{
	s32 cpu = cpu_of(p);
	struct artis_cpu *record = cpu_record(cpu);
	struct task_ctx *t = task_ctx(p);
	enum artis_class class = class_of(p);
	u64 now = clock_of(cpu);
	bool displaced, makes_room;

	if (!t)
		return;
	/* by RT0: artis is not called for that, only when the task comes back */
	displaced = t->is_on;
	if (displaced)
		charge(cpu, p, t, p->se.sum_exec_runtime, false);
	else
		t->charged_ns = p->se.sum_exec_runtime;
	t->is_on = true;
	t->yields = false;
	record->hosted_class = class;
	record->beset_ticks = 0;
	record->displaced_ns = 0;
	record->marked_pid = 0;
	record->calls = 0;
	record->makes_room = false;
	makes_room = artis_makes_room_late(class, record->chosen);
	record->chosen = false;
	record->next_waits = false;
	t->state = artis_state_running(t->state, record->rt);
	/* it came around us, or was stopped */
	if (!t->known)
		place(p, t, record->rt);
	if (artis_is_rt1(class))
		rt1_begins(record, p, t, now);
	note_wait(record, t, class, now);
	note_running(record, t, now);
	if (has_llcs())
		note_llc(record, t);
	if (record->rt) {
		running_rt(record, p, t, cpu, displaced);
		return;
	}
	idles(record, false);
	time_slice(record, t, class, cpu, now);
	if (makes_room && rt1_waits(cpu, false))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* sched_yield(): the task makes way for whoever waits, see artis_stays_first(). */
SEC("struct_ops/artis_yield")
bool BPF_PROG(artis_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *t = task_ctx(from);

	/* to give the CPU to somebody is a wish that nobody has to grant */
	if (to)
		return false;
	if (t)
		t->yields = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* The task goes to sleep or ends, or is changed in a way for which it must not be runnable. */
SEC("struct_ops/artis_quiescent")
void BPF_PROG(artis_quiescent, struct task_struct *p, u64 deq_flags)
{
	s32 cpu = cpu_of(p);
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct artis_cpu *record = cpu_record(cpu);
	u64 total_ns = p->se.sum_exec_runtime;
	bool is_current;
	struct task_ctx *t = task_ctx(p);

	if (!t)
		return;
	if (!t->is_on) {
		advance(t, 0, true);
		if (t->grouped)
			leave_group(t);
		return;
	}
	t->is_on = false;
	is_current = rq && rq->curr == p;
	if (is_current) {
		/* going to sleep takes a system call */
		record->calls++;
		/* the kernel charges it with the rest later */
		total_ns += rq->clock_task - p->se.exec_start;
	}
	charge(cpu, p, t, total_ns, true);
	if (t->grouped)
		leave_group(t);
	if (deq_flags & SCX_DEQ_SLEEP)
		end_burst(t);
	if (!record->rt)
		return;
	if (record->marked_pid == (u32)p->pid)
		record->marked_pid = 0;
	/* it sleeps: this is no change of its nice value or the like */
	if (is_current && p->__state && on && !is_exempt(p) && artis_is_leak(t->affinity, t->state))
		record->count[ARTIS_leaks_sleep]++;
}

SEC("struct_ops/artis_set_cpumask")
void BPF_PROG(artis_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	struct task_ctx *t = task_ctx(p);
	s32 cpu = cpu_of(p);
	enum artis_affinity affinity;

	if (!t)
		return;
	affinity = affinity_of(p);
	t->state = artis_state_affinity(t->state, is_rt(cpu), t->affinity, affinity);
	t->affinity = affinity;
	confine(t, p);
	if (artis_affinity_evicts(t->state) && scx_bpf_task_running(p))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

SEC("struct_ops.s/artis_init_task")
s32 BPF_PROG(artis_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *t = bpf_task_storage_get(&task_ctxs, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -12; /* ENOMEM */
	t->affinity = affinity_of(p);
	confine(t, p);
	t->llc = ARTIS_LLCS_MAX;
	if (bpf_core_field_exists(args->cgroup))
		t->group = group_of(args->cgroup);
	return 0;
}

/* Called by artis, the process, before the scheduler begins. */
SEC("syscall")
int know_artis(void *nothing)
{
	own_tgid = bpf_get_current_task_btf()->tgid;
	return 0;
}

/* The same. A kernel that hides its addresses from everybody leaves the handler unknown. */
SEC("syscall")
int know_kernel(void *nothing)
{
	static const char handler[] = "hrtimer_wakeup";

	if (bpf_kallsyms_lookup_name(handler, sizeof(handler), 0, &sleeper_handler))
		sleeper_handler = 0;
	return 0;
}

static s32 create_nrt_mask(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	u32 cpu;

	if (!mask)
		return -12; /* ENOMEM */
	bpf_for(cpu, 0, nr_cpus) {
		if (!is_rt(cpu))
			bpf_cpumask_set_cpu(cpu, mask);
	}
	mask = bpf_kptr_xchg(&nrt_mask, mask);
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

SEC("struct_ops.s/artis_init")
s32 BPF_PROG(artis_init)
{
	u32 cpu, dsq, llc;
	s32 err;

	err = create_nrt_mask();
	if (!err)
		err = create_slice_timers();
	if (!err)
		err = create_held_timer();
	bpf_for(dsq, DSQ_NRT_KTHREAD, DSQ_SINGLE_END) {
		if (!err)
			err = scx_bpf_create_dsq(dsq, -1);
	}
	bpf_for(llc, 0, nr_llcs) {
		if (!err)
			err = scx_bpf_create_dsq(linux_queue(false, llc), -1);
		if (!err)
			err = scx_bpf_create_dsq(linux_queue(true, llc), -1);
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct artis_cpu *record = cpu_record(cpu);

		if (!err)
			err = scx_bpf_create_dsq(DSQ_PINNED + cpu, -1);
		if (!err)
			err = scx_bpf_create_dsq(DSQ_PINNED_RT1 + cpu, -1);
		if (!err)
			err = scx_bpf_create_dsq(DSQ_KTHREAD + cpu, -1);
		if (record->offline)
			continue;
		(*online_at(record->llc, record->rt))++;
		if (record->rt) {
			nr_rt_online++;
		} else {
			nr_nrt_online++;
			idles(record, true);
		}
	}
	return err;
}

SEC("struct_ops/artis_exit")
void BPF_PROG(artis_exit, struct scx_exit_info *info)
{
	on = false;
	bpf_probe_read_kernel_str(ended.reason, sizeof(ended.reason), info->reason);
	bpf_probe_read_kernel_str(ended.message, sizeof(ended.message), info->msg);
	ended.code = info->exit_code;
	/* the kind last: it shows the reader that the rest is there */
	__sync_fetch_and_add(&ended.kind, info->kind);
}

SEC(".struct_ops.link")
struct sched_ext_ops artis_ops = {
	.select_cpu = (void *)artis_select_cpu,
	.enqueue = (void *)artis_enqueue,
	.dispatch = (void *)artis_dispatch,
	.tick = (void *)artis_tick,
	.yield = (void *)artis_yield,
	.running = (void *)artis_running,
	.quiescent = (void *)artis_quiescent,
	.set_cpumask = (void *)artis_set_cpumask,
	.init_task = (void *)artis_init_task,
	.cgroup_init = (void *)artis_cgroup_init,
	.cgroup_exit = (void *)artis_cgroup_exit,
	.cgroup_move = (void *)artis_cgroup_move,
	.cgroup_set_weight = (void *)artis_cgroup_set_weight,
	.cgroup_set_bandwidth = (void *)artis_cgroup_set_bandwidth,
	.cgroup_set_idle = (void *)artis_cgroup_set_idle,
	.cpu_online = (void *)artis_cpu_online,
	.cpu_offline = (void *)artis_cpu_offline,
	.init = (void *)artis_init,
	.exit = (void *)artis_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED |
		 SCX_OPS_ALLOW_QUEUED_WAKEUP,
	.timeout_ms = 30000,
	.name = "artis",
};
