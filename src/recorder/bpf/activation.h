/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a watched thread: what it lost, and when an activation of it begins
 * and ends.
 */
#ifndef ARTIS_RECORDER_ACTIVATION_H
#define ARTIS_RECORDER_ACTIVATION_H

static bool may_be_watched(u32 tid)
{
	return numbers[tid % RECORDER_NUMBERS / 64] & 1ULL << tid % 64;
}

static struct recorder_thread *thread_of(u32 tid)
{
	return may_be_watched(tid) ? bpf_map_lookup_elem(&threads, &tid) : NULL;
}

/* The record of the thread that has this CPU, if it is watched. */
static struct recorder_thread *watched(struct recorder_cpu *cpu)
{
	return cpu->watched ? thread_of(cpu->watched) : NULL;
}

static u32 cpu_of(struct task_struct *p)
{
	return p->thread_info.cpu;
}

/*
 * A thread lost time between two moments: all of it, or, of an activation, what was
 * counted. Counts it, and marks it when it is above the bar.
 */
static void lost(struct recorder_thread *thread, struct task_struct *p, u32 loss, u64 due_ns,
		 u64 end_ns)
{
	struct recorder_cpu *cpu = this_cpu();
	u64 lost_ns = end_ns > due_ns ? end_ns - due_ns : 0;
	struct recorder_mark *mark;
	bool is_longer = loss == RECORDER_LATE_LONGER;
	u32 place, tid = p->pid;
	u64 number;

	if (is_longer)
		loss = RECORDER_LATE;
	if (loss >= RECORDER_LOSSES || stopped || thread->silent)
		return;
	if (loss == RECORDER_STRETCHED && thread->lost_ns < lost_ns)
		lost_ns = thread->lost_ns;
	if (is_longer && end_ns > thread->end_ns) {
		thread->sum_ns[loss] += end_ns - thread->end_ns;
	} else {
		thread->count[loss]++;
		thread->sum_ns[loss] += lost_ns;
	}
	if (lost_ns > thread->max_ns[loss])
		thread->max_ns[loss] = lost_ns;
	if (lost_ns <= bar_ns)
		return;
	number = __sync_fetch_and_add(&cpu->marks, 1);
	place = bpf_get_smp_processor_id() * RECORDER_MARKS + (number & (RECORDER_MARKS - 1));
	mark = bpf_map_lookup_elem(&marks, &place);
	if (!mark)
		return;
	mark->number = RECORDER_HALF_DONE;
	barrier();
	mark->due_ns = due_ns;
	mark->waking_ns = thread->waking_ns;
	mark->end_ns = end_ns;
	mark->lost_ns = lost_ns;
	mark->from_ns = due_ns;
	mark->call = thread->call;
	mark->busy = 0;
	mark->waits = loss == RECORDER_STRETCHED ? thread->waited : loss == RECORDER_LOCKED_OUT;
	if (loss == RECORDER_LATE && due_ns < thread->call_ns) {
		mark->busy = !thread->from_ns || thread->from_ns > due_ns;
		if (!mark->busy)
			mark->from_ns = thread->from_ns;
		mark->call = thread->from_call;
		mark->waits = 1;
	}
	mark->tid = tid;
	mark->tgid = p->tgid;
	mark->loss = loss;
	mark->policy = p->policy;
	mark->prio = p->prio;
	name_of(mark->name, p);
	barrier();
	mark->number = (u32)(number + 1) & 0x7fffffffU;
	if (lost_ns > until_ns)
		stopped = 1;
}

/* A woken thread is about to be in user mode again. */
static void returned(struct recorder_cpu *cpu, struct recorder_thread *thread,
		     struct task_struct *p, u64 now)
{
	bool locked_out = thread->lock_ns != 0;
	bool in_time = thread->due_ns >= thread->call_ns, waited = thread->wait_ns;
	u64 due_ns = locked_out ? thread->lock_ns : thread->due_ns;

	thread->pending = 0;
	thread->lock_ns = 0;
	if (waited) {
		/* it waited in a call of its own: still the same activation */
		if (now > thread->wait_ns)
			thread->lost_ns += now - thread->wait_ns;
		thread->wait_ns = 0;
		thread->waited = 1;
	} else {
		/* Its time was over before it could sleep: an activation ends without a switch. */
		if (thread->began_ns && !locked_out)
			lost(thread, p, RECORDER_STRETCHED, thread->began_ns, thread->waking_ns);
		thread->began_ns = now;
		thread->lost_ns = 0;
		thread->waited = 0;
		thread->off_ns = 0;
		if (!locked_out)
			thread->timed = thread->by_timer;
	}
	/* For a timer that it asked for in time it slept: from there on its history is known. */
	if (!locked_out && in_time && thread->by_timer) {
		thread->from_ns = thread->due_ns;
		thread->from_call = thread->call;
	}
	lost(thread, p, locked_out ? RECORDER_LOCKED_OUT : RECORDER_LATE, due_ns, now);
	thread->end_ns = locked_out || waited ? 0 : now;
	thread->irqs = cpu->irqs;
}

/* The owners of the locks that @p waits for, one behind the other. */
static void record_owners(struct recorder_cpu *cpu, struct task_struct *p)
{
	struct task_struct *waiter = p;
	int i;

	for (i = 0; i < RECORDER_CHAIN; i++) {
		struct rt_mutex_waiter *wait;
		struct rt_mutex_base *lock;
		struct recorder_event *event;
		struct task_struct *owner;
		u64 number;

		wait = BPF_CORE_READ(waiter, pi_blocked_on);
		if (!wait)
			return;
		lock = BPF_CORE_READ(wait, lock);
		/* the lowest bit says that there are waiters */
		owner = (struct task_struct *)((u64)BPF_CORE_READ(lock, owner) & ~1ULL);
		if (!owner)
			return;
		event = begin(cpu, RECORDER_OWNER);
		if (!event)
			return;
		number = event->a;
		event->what = i;
		event->pid = BPF_CORE_READ(waiter, pid);
		event->other = BPF_CORE_READ(owner, pid);
		event->a = (u64)lock;
		event->b = (u32)BPF_CORE_READ(owner, prio) | (u64)BPF_CORE_READ(owner, policy) << 32;
		bpf_probe_read_kernel(event->name, RECORDER_NAME, owner->comm);
		done(event, number);
		waiter = owner;
	}
}

static bool throttled(struct rq *rq)
{
	if (!rq || !bpf_core_field_exists(rq->rt.rt_throttled))
		return false;
	return rq->rt.rt_throttled;
}

/* Will this wakeup be worth keeping, if what is left of it is short? */
static bool may_be_kept(struct recorder_thread *thread, u64 now)
{
	u64 due_ns = thread->lock_ns ? thread->lock_ns : thread->due_ns;

	return now + stack_after_ns > due_ns + bar_ns;
}

/* What interrupts and softirqs have taken of a CPU. */
static u64 irq_ns_of(const struct recorder_cpu *cpu, u64 now)
{
	u64 ns = cpu->irq_ns;

	if (cpu->irq_depth && now > cpu->irq_since_ns)
		ns += now - cpu->irq_since_ns;
	return ns;
}

/*
 * Did a task keep @thread, which was woken, from @cpu for long? Not what interrupts took since:
 * they are known without a stack.
 */
static bool was_kept_waiting(const struct recorder_thread *thread, const struct recorder_cpu *cpu,
			     u64 now)
{
	s64 waited_ns = now - thread->waking_ns;
	s64 irq_ns = irq_ns_of(cpu, now) - thread->irq_ns;

	return waited_ns - irq_ns > (s64)stack_after_ns;
}

/*
 * A watched thread that was woken and has the CPU, but is not in user mode yet: a stack taken now
 * would make it late, and would show the switch to it.
 */
static bool is_on_its_way(struct recorder_thread *thread)
{
	return thread && thread->pending;
}

/* include/linux/sched.h, include/linux/sched/jobctl.h */
enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_FROZEN = 0x8000,
	JOBCTL_TRAP_FREEZE = 1 << 23,
	/* include/uapi/linux/ptrace.h */
	PTRACE_EVENTMSG_SYSCALL_EXIT = 2,
};

static bool is_in(const volatile u64 *calls, s32 call)
{
	return call >= 0 && call < 512 && calls[call / 64] & 1ULL << call % 64;
}

/* Asleep in this state, a thread waits for its next activation, and not within this one. */
static bool is_idle(const struct recorder_thread *thread, u32 state)
{
	if (state & (TASK_STOPPED | TASK_TRACED) || thread->in_call == RECORDER_USER_MODE)
		return false;
	if (thread->in_call == RECORDER_NOT_SEEN || is_in(idle_calls, thread->call))
		return true;
	return !thread->timed && state & TASK_INTERRUPTIBLE && is_in(event_calls, thread->call);
}

/*
 * Is it stopped between the end of its system call and user mode, for a tracer that wants to see
 * each call? Its wakeup goes on, as when it is preempted there.
 */
static bool is_stopped_on_its_way(const struct recorder_thread *thread, struct task_struct *p,
				  u32 state)
{
	return state & TASK_TRACED && thread->end_ns && !thread->in_call &&
	       p->ptrace_message == PTRACE_EVENTMSG_SYSCALL_EXIT;
}

/* A thread that is watched leaves the CPU. @state: 0 when it did not want to. */
static void leaves(struct recorder_cpu *cpu, struct recorder_thread *thread,
		   struct task_struct *prev, u32 state, u64 now)
{
	if (!state) {
		if (!thread->pending)
			thread->off_ns = now;
		/* without an interrupt it is on its way to user mode still */
		thread->is_over = thread->irqs != cpu->irqs;
		return;
	}
	if (is_stopped_on_its_way(thread, prev, state)) {
		thread->off_ns = now;
		thread->is_over = 0;
		return;
	}
	/* it sleeps within a page fault: still the same activation */
	if (thread->fault_ns && !thread->in_call)
		return;
	if (thread->lock_ns) {
		record_owners(cpu, prev);
	} else if (thread->began_ns && is_idle(thread, state)) {
		lost(thread, prev, RECORDER_STRETCHED, thread->began_ns, now);
		thread->began_ns = 0;
		thread->lost_ns = 0;
		thread->waited = 0;
	} else if (thread->began_ns && !thread->wait_ns) {
		thread->wait_ns = now;
	}
	/* Woken, and asleep again for what it waited for; a lock on its way is part of its wakeup. */
	if (state & TASK_INTERRUPTIBLE)
		thread->pending = 0;
	thread->off_ns = 0;
}

/* A thread that is watched gets the CPU. */
static void comes(struct recorder_cpu *cpu, struct recorder_thread *thread,
		  struct task_struct *next, u64 now)
{
	if (thread->off_ns && !thread->fault_ns) {
		/* It lost the CPU on its way to user mode: its wakeup was not over. */
		if (thread->end_ns && !thread->in_call && !thread->wait_ns &&
		    !thread->is_over) {
			lost(thread, next, RECORDER_LATE_LONGER, thread->due_ns, now);
			thread->end_ns = now;
			thread->began_ns = now;
		} else if (now > thread->off_ns) {
			thread->lost_ns += now - thread->off_ns;
		}
		thread->off_ns = 0;
	}
	if (thread->pending && !thread->in_call && !thread->fault_ns)
		returned(cpu, thread, next, now);
}

/*
 * A kernel was seen that runs no program while some tasks have the CPU (the threads of a virtual
 * machine's init), also none for the wakeups of others, and for the switch to the next. So another
 * task than the last switch gave the CPU to, @p, shows that there was one: after that, and after a
 * watched one was woken. When, and who had the CPU meanwhile, nobody knows; nor how late a thread
 * was of which not even the wakeup was seen: it is counted.
 */
static __noinline void notice_untraced(struct recorder_cpu *cpu, struct task_struct *p)
{
	struct recorder_thread *thread = thread_of(p->pid);
	u64 number, now, since_ns = cpu->switched_ns;
	struct recorder_event *event;

	event = begin(cpu, RECORDER_SWITCH);
	if (!event)
		return;
	number = event->a;
	now = event->ns;
	if (thread && thread->pending && thread->waking_ns > since_ns)
		since_ns = thread->waking_ns;
	cpu->last_switch = number;
	cpu->switched_ns = now;
	cpu->running = p->pid;
	event->what = RECORDER_UNTRACED | RECORDER_PREEMPTED;
	if (p->flags & PF_KTHREAD)
		event->what |= RECORDER_KTHREAD;
	event->pid = p->pid;
	event->a = since_ns;
	event->b = (u16)p->prio | (u64)(u8)p->policy << RECORDER_POLICY_AT;
	name_of(event->name, p);
	done(event, number);
	cpu->watched = thread && !thread->ended ? p->pid : 0;
	if (!cpu->watched)
		return;
	if (!thread->pending && !thread->off_ns && !thread->fault_ns)
		cpu->untraced++;
	comes(cpu, thread, p, now);
}

/* Is @p another task than the one that is known to have the CPU? */
static bool came_untraced(const struct recorder_cpu *cpu, const struct task_struct *p)
{
	return cpu->switched_ns && cpu->running != (u32)p->pid;
}

#endif /* ARTIS_RECORDER_ACTIVATION_H */
