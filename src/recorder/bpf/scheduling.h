/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Switches, wakeups, migrations, and what keeps a task from its CPU.
 */
#ifndef ARTIS_RECORDER_SCHEDULING_H
#define ARTIS_RECORDER_SCHEDULING_H

/* The cgroup whose limit keeps @p from its CPU; NULL: none does. */
static struct task_group *limit_of(struct task_struct *p)
{
	struct sched_entity *entity = &p->se;
	struct cfs_rq *queue = entity->cfs_rq;
	int i;

	if (!bpf_core_field_exists(queue->throttle_count) || !queue || !queue->throttle_count)
		return NULL;
	/* A task that is in the kernel goes on, on kernels that stop it on its way out of it. */
	if (bpf_core_field_exists(p->throttled) &&
	    !p->throttled)
		return NULL;
	for (i = 0; i < RECORDER_GROUPS && entity; i++) {
		queue = BPF_CORE_READ(entity, cfs_rq);
		if (queue && BPF_CORE_READ_BITFIELD_PROBED(queue, throttled))
			return BPF_CORE_READ(queue, tg);
		entity = BPF_CORE_READ(entity, parent);
	}
	return NULL;
}

/* pid: who has to wait for its cgroup's limit; a: the cgroup; b: the timer that ends it. */
static void record_limit(struct recorder_cpu *cpu, struct task_struct *p)
{
	struct task_group *group = limit_of(p);
	struct kernfs_node *node;
	struct recorder_event *event;
	u64 number;

	if (!group)
		return;
	event = begin(cpu, RECORDER_LIMITED);
	if (!event)
		return;
	number = event->a;
	node = BPF_CORE_READ(group, css.cgroup, kn);
	event->pid = p->pid;
	event->a = BPF_CORE_READ(node, id);
	event->b = (u64)&group->cfs_bandwidth.period_timer;
	if (bpf_probe_read_kernel_str(event->name, RECORDER_NAME, BPF_CORE_READ(node, name)) < 0)
		event->name[0] = 0;
	done(event, number);
}

/* How @p sleeps. */
static u32 sleep_flags(struct task_struct *p, u32 state)
{
	u32 flags = 0;

	if (BPF_CORE_READ_BITFIELD_PROBED(p, in_iowait))
		flags |= RECORDER_DISK;
	if (state & TASK_FROZEN || p->jobctl & JOBCTL_TRAP_FREEZE)
		flags |= RECORDER_FROZEN;
	return flags;
}

/*
 * pid: who comes; other: who goes; a: the state of the latter, and the system call
 * that it is in; b: priority, enum recorder_switch_parts.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct recorder_cpu *cpu = this_cpu();
	struct rq *rq = rq_of(prev);
	struct recorder_event *event;
	struct recorder_thread *thread;
	u32 prev_state = prev->__state, flags = 0, stack = 0;
	u64 number, now;
	u64 scheduler_ns = cpu->scheduler_ns;
	s32 call = -1;

	cpu->scheduler_ns = 0;
	/* no interrupt is handled here: one that seems to be began before its end could be seen */
	cpu->irq_depth = 0;
	if (came_untraced(cpu, prev))
		notice_untraced(cpu, prev);
	event = begin(cpu, RECORDER_SWITCH);
	if (!event)
		return 0;
	number = event->a;
	now = event->ns;
	scheduler_ns = scheduler_ns && now > scheduler_ns ? now - scheduler_ns : 0;
	if (scheduler_ns > SCHEDULER_NS_MAX)
		scheduler_ns = SCHEDULER_NS_MAX;
	cpu->last_switch = number;
	cpu->switched_ns = now;
	cpu->running = next->pid;
	thread = thread_of(next->pid);
	if (!(prev->flags & PF_KTHREAD)) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);

		call = ARCH_CALL(regs);
	}
	if (preempt || !prev_state)
		flags |= RECORDER_PREEMPTED;
	else
		flags |= sleep_flags(prev, prev_state);
	if (prev->prio < 0 && !prev_state &&
	    BPF_CORE_READ_BITFIELD_PROBED(prev, dl.dl_throttled))
		flags |= RECORDER_BUDGET;
	if (bpf_core_field_exists(next->dl_server) &&
	    next->dl_server)
		flags |= RECORDER_SERVER;
	if (next->flags & PF_KTHREAD)
		flags |= RECORDER_KTHREAD;
	if (throttled(rq))
		flags |= RECORDER_THROTTLED;
	if (thread && thread->pending && (preempt || prev_state) &&
	    was_kept_waiting(thread, cpu, now) && may_be_kept(thread, now))
		stack = take_stack(ctx, cpu, now);
	event->steal_ns = steal_ns(rq);
	event->what = flags;
	event->pid = next->pid;
	event->other = prev->pid;
	event->a = prev_state | (u64)(u32)call << 32;
	event->b = (u16)next->prio | (u64)(u8)next->policy << RECORDER_POLICY_AT |
		   scheduler_ns << RECORDER_SCHEDULER_AT | (u64)stack << RECORDER_STACK_AT;
	name_of(event->name, next);
	done(event, number);
	if (!prev_state)
		record_limit(cpu, prev);

	if (cpu->watched) {
		struct recorder_thread *gone = thread_of(cpu->watched);

		if (gone && cpu->watched == (u32)prev->pid)
			leaves(cpu, gone, prev, flags & RECORDER_PREEMPTED ? 0 : prev_state, now);
	}
	cpu->watched = thread && !thread->ended ? next->pid : 0;
	if (cpu->watched)
		comes(cpu, thread, next, now);
	return 0;
}

/* A watched thread is woken, by a timer that was due then, or by somebody. */
static void wakes(struct recorder_thread *thread, struct task_struct *p, u64 due_ns, bool by_timer,
		  u64 now)
{
	if (thread->wait_ns && by_timer && !thread->pending) {
		/* It did not wait within its activation, but for the next one. */
		lost(thread, p, RECORDER_STRETCHED, thread->began_ns, thread->wait_ns);
		thread->began_ns = 0;
		thread->lost_ns = 0;
		thread->wait_ns = 0;
		thread->waited = 0;
	}
	if (thread->pending || (thread->off_ns && p->__state & TASK_TRACED))
		return;
	thread->due_ns = due_ns < now ? due_ns : now;
	thread->waking_ns = now;
	thread->irq_ns = irq_ns_of(cpu_at(cpu_of(p)), now);
	thread->by_timer = by_timer;
	thread->pending = 1;
}

/* Where a thread waits that has waited within its activation for long. */
static u32 stack_of_wait(struct recorder_cpu *cpu, struct recorder_thread *thread,
			 struct task_struct *p, u64 now)
{
	u64 lost_ns = thread->lost_ns + now - thread->wait_ns;

	if (!thread->wait_ns || thread->pending || lost_ns < stack_after_ns || lost_ns < bar_ns)
		return 0;
	return take_stack_of(NULL, p, cpu, now);
}

/*
 * pid: who is woken; other, name: by whom; what: in a timer's handler; a: the CPU that it had, and
 * the stack; b: when the timer was due.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	struct recorder_thread *thread = thread_of(p->pid);
	struct task_struct *current = bpf_get_current_task_btf();
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event = begin(cpu, RECORDER_WAKING);
	u64 number, now, due_ns;
	bool by_timer;
	int context;

	if (!event)
		return 0;
	number = event->a;
	now = event->ns;
	context = cpu->timer[0] ? 0 : 1;
	by_timer = cpu->timer[context] != 0;
	due_ns = by_timer ? cpu->timer_due_ns[context] : now;
	event->what = by_timer;
	event->pid = p->pid;
	event->other = current->pid;
	event->a = cpu_of(p);
	event->b = due_ns;
	name_of(event->name, current);
	if (thread && !by_timer)
		event->a |= (u64)stack_of_wait(cpu, thread, p, now) << 32;
	done(event, number);
	if (thread && !thread->ended)
		wakes(thread, p, due_ns, by_timer, now);
	return 0;
}

/* pid: who is runnable now; a: the CPU that is to run it; b: its priority and policy. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *p)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event;
	u64 number;

	if (!thread_of(p->pid))
		return 0;
	event = begin(cpu, RECORDER_WAKEUP);
	if (!event)
		return 0;
	number = event->a;
	event->pid = p->pid;
	event->steal_ns = steal_ns(rq_of(bpf_get_current_task_btf()));
	event->a = cpu_of(p);
	event->b = (u16)p->prio | (u64)(u16)p->policy << 16;
	name_of(event->name, p);
	done(event, number);
	record_limit(cpu, p);
	return 0;
}

/* pid: who moves; a: where to. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrated, struct task_struct *p, int to)
{
	struct recorder_thread *thread = thread_of(p->pid);
	struct recorder_event *event = begin(this_cpu(), RECORDER_MIGRATE);
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->pid = p->pid;
	event->a = to;
	/* from now on it waits for that one */
	if (thread)
		thread->irq_ns = irq_ns_of(cpu_at(to), event->ns);
	done(event, number);
	return 0;
}

/* A stop or its end. pid: whose; a: which signal; b: the process; other, name: by whom. */
SEC("tp_btf/signal_generate")
int BPF_PROG(signal_sent, int signal, struct kernel_siginfo *info, struct task_struct *p)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct recorder_event *event;
	u64 number;

	if (signal < SIGCONT || signal > SIGTTOU)
		return 0;
	event = begin(this_cpu(), RECORDER_SIGNAL);
	if (!event)
		return 0;
	number = event->a;
	event->pid = p->pid;
	event->other = current->pid;
	event->a = signal;
	event->b = p->tgid;
	name_of(event->name, current);
	done(event, number);
	return 0;
}

/* pid: whose priority changes by inheritance; other: who lends his, or 0; a: priority now. */
SEC("tp_btf/sched_pi_setprio")
int BPF_PROG(inherits, struct task_struct *p, struct task_struct *donor)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_PRIORITY);
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->pid = p->pid;
	event->other = donor ? donor->pid : 0;
	event->a = donor && donor->prio < p->prio ? donor->prio : p->prio;
	name_of(event->name, p);
	done(event, number);
	return 0;
}

#endif /* ARTIS_RECORDER_SCHEDULING_H */
