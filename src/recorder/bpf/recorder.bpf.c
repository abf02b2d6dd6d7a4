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

/* The loader refuses more CPUs; the mask is how the verifier sees that the index fits. */
static struct recorder_cpu *cpu_at(u32 cpu)
{
	return &cpus[cpu & (RECORDER_CPUS_MAX - 1)];
}

static struct recorder_cpu *this_cpu(void)
{
	return cpu_at(bpf_get_smp_processor_id());
}

/*
 * The run queue of the CPU that @p is on. By way of the task, because a kernel without
 * CONFIG_KALLSYMS_ALL does not let programs name its variables.
 */
static struct rq *rq_of(struct task_struct *p)
{
	if (!bpf_core_field_exists(p->se.cfs_rq))
		return NULL;
	return p->se.cfs_rq->rq;
}

/* What the hypervisor took so far, as the scheduler saw it when it last looked at the clock. */
static u64 steal_ns(struct rq *rq)
{
	if (!rq || !bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	return rq->prev_steal_time_rq;
}

/*
 * The next place of this CPU's ring, with what every event has. An addition that
 * an interrupt cannot split gives the place; done() makes it readable.
 */
static struct recorder_event *begin(struct recorder_cpu *cpu, u16 kind)
{
	u64 number;
	u32 key;
	struct recorder_event *event;

	if (stopped)
		return NULL;
	number = __sync_fetch_and_add(&cpu->events, 1);
	key = bpf_get_smp_processor_id() * RECORDER_EVENTS + (number & (RECORDER_EVENTS - 1));
	event = bpf_map_lookup_elem(&events, &key);
	if (!event)
		return NULL;
	event->number = RECORDER_HALF_DONE;
	barrier();
	event->ns = bpf_ktime_get_ns();
	event->kind = kind;
	event->what = 0;
	event->pid = 0;
	event->other = 0;
	event->a = number;
	event->b = 0;
	event->steal_ns = 0;
	return event;
}

static void done(struct recorder_event *event, u64 number)
{
	barrier();
	event->number = (u32)(number + 1) & 0x7fffffffU;
}

/* An event with a value; when it happened, 0 when nothing is recorded any more. */
static u64 record(struct recorder_cpu *cpu, u16 kind, u16 what, u64 a)
{
	struct recorder_event *event = begin(cpu, kind);
	u64 number, ns;

	if (!event)
		return 0;
	number = event->a;
	ns = event->ns;
	event->what = what;
	event->a = a;
	done(event, number);
	return ns;
}

/* In two words: the verifier knows @p, so no helper has to look whether it can be read. */
static void name_of(char *name, struct task_struct *p)
{
	const u64 *from = (const u64 *)p->comm;
	u64 *to = (u64 *)name;

	to[0] = from[0];
	to[1] = from[1];
}

/* The number of the stack that is taken, counted from 1; 0: none. @p: who sleeps, or NULL. */
static __always_inline u32 take_stack_of(void *ctx, struct task_struct *p, struct recorder_cpu *cpu,
					 u64 ns)
{
	u64 number = __sync_fetch_and_add(&cpu->stacks, 1);
	u32 place = bpf_get_smp_processor_id() * RECORDER_STACKS + (number & (RECORDER_STACKS - 1));
	struct recorder_stack *stack = bpf_map_lookup_elem(&stacks, &place);
	long bytes;

	if (!stack)
		return 0;
	stack->ns = 0;
	barrier();
	if (p)
		bytes = bpf_get_task_stack(p, stack->address, sizeof(stack->address), 0);
	else
		bytes = bpf_get_stack(ctx, stack->address, sizeof(stack->address), 0);
	stack->depth = bytes > 0 ? (u64)bytes / sizeof(u64) : 0;
	barrier();
	stack->ns = ns;
	return (number & (RECORDER_STACKS - 1)) + 1;
}

static u32 take_stack(void *ctx, struct recorder_cpu *cpu, u64 ns)
{
	return take_stack_of(ctx, NULL, cpu, ns);
}

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
	struct recorder_event *event = begin(cpu, RECORDER_SWITCH);
	struct rq *rq = rq_of(prev);
	struct recorder_thread *thread;
	u32 prev_state = prev->__state, flags = 0, stack = 0;
	u64 number, now;
	u64 scheduler_ns = cpu->scheduler_ns;
	s32 call = -1;

	cpu->scheduler_ns = 0;
	if (!event)
		return 0;
	number = event->a;
	now = event->ns;
	scheduler_ns = scheduler_ns && now > scheduler_ns ? now - scheduler_ns : 0;
	if (scheduler_ns > SCHEDULER_NS_MAX)
		scheduler_ns = SCHEDULER_NS_MAX;
	cpu->last_switch = number;
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
	if (thread->pending)
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

/* An interrupt or softirq begins: what a watched thread loses to the outermost is counted. */
static void irq_begins(struct recorder_cpu *cpu, u64 now)
{
	if (!cpu->irq_depth++) {
		cpu->irq_since_ns = now;
		cpu->irqs++;
	}
}

static void irq_ends(struct recorder_cpu *cpu, u64 now)
{
	struct recorder_thread *thread;

	/* one that began before we were here */
	if (!cpu->irq_depth || --cpu->irq_depth)
		return;
	if (now > cpu->irq_since_ns)
		cpu->irq_ns += now - cpu->irq_since_ns;
	thread = watched(cpu);
	if (thread && thread->began_ns && !thread->pending && !thread->fault_ns &&
	    now > cpu->irq_since_ns && cpu->irq_since_ns >= thread->began_ns)
		thread->lost_ns += now - cpu->irq_since_ns;
}

/* Did the interrupt that is handled here come in user mode? Then no function kept it away. */
static bool came_in_user_mode(void)
{
	struct pt_regs **regs = bpf_this_cpu_ptr(&__irq_regs);

	return regs && *regs && ARCH_IN_USER_MODE(*regs);
}

/* The system call that a task is in; -1: none, or it is a thread of the kernel. */
static s32 call_of(struct task_struct *p)
{
	struct pt_regs *regs;

	if (p->flags & PF_KTHREAD)
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	return ARCH_CALL(regs);
}

/*
 * The bytes of code before where the timer's interrupt came, by the stack with this number: they
 * show whether it came as soon as interrupts were on again. 0: cannot be read.
 */
static u64 code_before(u32 number)
{
	u32 place = bpf_get_smp_processor_id() * RECORDER_STACKS + number - 1;
	struct recorder_stack *stack;
	u64 code = 0;
	u32 i;

	if (!timer_entry || !number)
		return 0;
	stack = bpf_map_lookup_elem(&stacks, &place);
	if (!stack)
		return 0;
	for (i = 0; i < RECORDER_DEPTH - 1; i++) {
		u64 at = stack->address[i];

		if (i + 1 >= stack->depth)
			return 0;
		if (at < timer_entry || at >= timer_entry_end)
			continue;
		bpf_probe_read_kernel(&code, sizeof(code), (void *)stack->address[i + 1] - sizeof(code));
		return code;
	}
	return 0;
}

/*
 * a: the handler; b: when it was due; other: the stack; what: flags. Due as the thread asked,
 * without slack. @sees_mode: the program may ask came_in_user_mode(), where no stack is needed.
 */
static __always_inline void hrtimer_begins_of(void *ctx, struct hrtimer *timer, bool sees_mode)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event = begin(cpu, RECORDER_HRTIMER_ENTRY);
	u64 number, due_ns, latest_ns;
	int context = timer->is_soft ? 1 : 0;
	/* what comes behind another timer is late by that one: when did the interrupt come? */
	bool first = !cpu->irq_depth || cpu->timers_since_ns != cpu->irq_since_ns;
	bool looked = cpu->irq_depth && cpu->looked_since_ns == cpu->irq_since_ns;
	u64 came_ns = cpu->irq_depth ? cpu->irq_since_ns : 0;

	cpu->timers_since_ns = cpu->irq_since_ns;
	if (!event)
		return;
	if (!came_ns)
		came_ns = event->ns;
	number = event->a;
	/* the offset of a clock that can be set makes its times those of CLOCK_MONOTONIC */
	due_ns = timer->_softexpires - timer->base->offset;
	latest_ns = timer->node.expires - timer->base->offset;
	cpu->timer_due_ns[context] = due_ns;
	cpu->timer[context] = (u64)timer;
	event->a = (u64)timer->function;
	event->b = due_ns;
	event->pid = (u32)(latest_ns > due_ns ? latest_ns - due_ns : 0);	/* slack */
	*(u64 *)event->name = 0;
	if (!context && !looked) {
		struct task_struct *current = bpf_get_current_task_btf();

		if (sees_mode && came_in_user_mode())
			event->what = RECORDER_IN_USER_MODE;
		if (first && !(current->flags & PF_KTHREAD)) {
			event->what |= RECORDER_CALL_KNOWN;
			*(s32 *)(event->name + 8) = call_of(current);
		}
		if (came_ns > latest_ns && !(event->what & RECORDER_IN_USER_MODE) &&
		    came_ns - latest_ns > stack_after_ns && came_ns - latest_ns > bar_ns / 4 &&
		    !is_on_its_way(watched(cpu))) {
			cpu->looked_since_ns = cpu->irq_since_ns;
			event->other = take_stack(ctx, cpu, event->ns);
			*(u64 *)event->name = code_before(event->other);
		}
	}
	if (limit_timer && event->a == limit_timer) {
		event->what |= RECORDER_OF_LIMIT;
		*(u64 *)event->name = (u64)timer;
	}
	done(event, number);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_begins, struct hrtimer *timer)
{
	hrtimer_begins_of(ctx, timer, true);
	return 0;
}

/* For kernels that do not let programs name their variables. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_begins_plain, struct hrtimer *timer)
{
	hrtimer_begins_of(ctx, timer, false);
	return 0;
}

/* The handler may have freed the timer: only its address is used. */
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_ends, struct hrtimer *timer)
{
	struct recorder_cpu *cpu = this_cpu();

	if (cpu->timer[0] == (u64)timer)
		cpu->timer[0] = 0;
	else if (cpu->timer[1] == (u64)timer)
		cpu->timer[1] = 0;
	record(cpu, RECORDER_HRTIMER_EXIT, 0, 0);
	return 0;
}

/* what: its number; name: its name. */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_begins_here, int irq, struct irqaction *action)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event = begin(cpu, RECORDER_IRQ_ENTRY);
	u64 number;

	if (!event)
		return 0;
	irq_begins(cpu, event->ns);
	number = event->a;
	event->what = irq;
	event->a = 0;
	if (bpf_probe_read_kernel_str(event->name, RECORDER_NAME,
				      action->name) < 0)
		event->name[0] = 0;
	done(event, number);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_ends_here, int irq)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_ends(cpu, record(cpu, RECORDER_IRQ_EXIT, irq, 0));
	return 0;
}

/* what: enum recorder_vector. */
#define VECTOR(name, which)									   \
	SEC("tp_btf/" #name "_entry")								   \
	int BPF_PROG(name##_begins)								   \
	{											   \
		struct recorder_cpu *cpu = this_cpu();						   \
												   \
		irq_begins(cpu, record(cpu, RECORDER_VECTOR_ENTRY, which, 0));			   \
		return 0;									   \
	}											   \
	SEC("tp_btf/" #name "_exit")								   \
	int BPF_PROG(name##_ends)								   \
	{											   \
		struct recorder_cpu *cpu = this_cpu();						   \
												   \
		irq_ends(cpu, record(cpu, RECORDER_VECTOR_EXIT, which, 0));			   \
		return 0;									   \
	}

VECTOR(local_timer, RECORDER_LOCAL_TIMER)
VECTOR(reschedule, RECORDER_RESCHEDULE)
VECTOR(call_function, RECORDER_CALL_FUNCTION)
VECTOR(call_function_single, RECORDER_CALL_FUNCTION)
VECTOR(irq_work, RECORDER_IRQ_WORK)
VECTOR(x86_platform_ipi, RECORDER_PLATFORM)
VECTOR(thermal_apic, RECORDER_THERMAL)
VECTOR(error_apic, RECORDER_APIC_ERROR)

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int which)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_begins(cpu, record(cpu, RECORDER_SOFTIRQ_ENTRY, which, 0));
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int which)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_ends(cpu, record(cpu, RECORDER_SOFTIRQ_EXIT, which, 0));
	return 0;
}

/* The function of the delayed work that has this timer; 0: cannot be read. */
static u64 work_of(struct timer_list *timer)
{
	u64 work = (u64)timer - bpf_core_field_offset(struct delayed_work, timer);
	u64 function;

	/* The verifier knows the timer, and nothing in front of it. */
	if (bpf_core_read(&function, sizeof(function),
			  &((struct delayed_work *)work)->work.func))
		return 0;
	return function;
}

/* a: the function; b: that of the work, if it is the timer of a delayed one. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_begins, struct timer_list *timer)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_TIMER_ENTRY);
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->a = (u64)timer->function;
	if (delayed_work_timer && event->a == delayed_work_timer)
		event->b = work_of(timer);
	done(event, number);
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(timer_ends)
{
	record(this_cpu(), RECORDER_TIMER_EXIT, 0, 0);
	return 0;
}

/* name: the network device that packets were taken from; a: how many. */
SEC("tp_btf/napi_poll")
int BPF_PROG(napi_polled, struct napi_struct *napi, int work)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_NAPI);
	struct net_device *device;
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->a = work;
	event->name[0] = 0;
	device = napi->dev;
	if (device)
		bpf_probe_read_kernel_str(event->name, RECORDER_NAME, device->name);
	done(event, number);
	return 0;
}

/*
 * a: the function that another CPU asked for. Not typed tracepoints: of those the
 * verifier does not let a pointer to a function be read.
 */
SEC("raw_tp/csd_function_entry")
int BPF_PROG(call_begins, void *function)
{
	record(this_cpu(), RECORDER_CSD_ENTRY, 0, (u64)function);
	return 0;
}

SEC("raw_tp/csd_function_exit")
int BPF_PROG(call_ends, void *function)
{
	record(this_cpu(), RECORDER_CSD_EXIT, 0, (u64)function);
	return 0;
}

/* pid, name: who asks; what: which CPU; a: for which function. */
SEC("raw_tp/csd_queue_cpu")
int BPF_PROG(call_sent, unsigned int to, unsigned long callsite, void *function)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_CSD_SEND);
	struct task_struct *p = bpf_get_current_task_btf();
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->what = to;
	event->pid = p->pid;
	event->a = (u64)function;
	name_of(event->name, p);
	done(event, number);
	return 0;
}

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

/* pid: who; a: which; b: its first argument; other: whether it asks for a lock. */
static __always_inline void call_begins_of(struct pt_regs *regs, long id, bool again)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_thread *thread = watched(cpu);
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
	struct recorder_thread *thread = watched(cpu);
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

/* a: the lock; what: its flags. */
SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begins, void *lock, unsigned int flags)
{
	record(this_cpu(), RECORDER_CONTENTION_BEGIN, flags, (u64)lock);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_ends, void *lock)
{
	record(this_cpu(), RECORDER_CONTENTION_END, 0, (u64)lock);
	return 0;
}

/* a: the function. */
SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(work_begins, struct work_struct *work)
{
	record(this_cpu(), RECORDER_WORK_START, 0, (u64)work->func);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(work_ends)
{
	record(this_cpu(), RECORDER_WORK_END, 0, 0);
	return 0;
}

/* a: the idle state; all bits: it ends. */
SEC("tp_btf/cpu_idle")
int BPF_PROG(idles, unsigned int state)
{
	record(this_cpu(), RECORDER_IDLE, 0, state);
	return 0;
}

/* What it takes until a switch stands in the event of that. */
SEC("tp_btf/sched_entry_tp")
int BPF_PROG(scheduler_begins)
{
	this_cpu()->scheduler_ns = bpf_ktime_get_ns();
	return 0;
}

/* After a switch it says when a watched thread goes on. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(scheduler_ends, bool switched)
{
	struct recorder_cpu *cpu = this_cpu();

	if (cpu->watched && switched)
		record(cpu, RECORDER_SCHED_EXIT, 0, 0);
	return 0;
}

static bool is_wanted(const char *name)
{
	u32 i;

	if (!wanted_length)
		return false;
	for (i = 0; i < RECORDER_NAME; i++) {
		if (i >= wanted_length)
			return wanted_begin || !name[i];
		if (name[i] != wanted[i])
			return false;
	}
	return true;
}

/* From now on a thread is watched that does not run yet, or runs here. */
static void watch(u32 tid, u16 follow)
{
	struct recorder_thread fresh = {};

	fresh.follow = follow;
	fresh.in_call = RECORDER_NOT_SEEN;
	fresh.call = -1;
	__sync_fetch_and_or(&numbers[tid % RECORDER_NUMBERS / 64], 1ULL << tid % 64);
	bpf_map_update_elem(&threads, &tid, &fresh, 0);
	if (bpf_get_current_task_btf()->pid == (s32)tid)
		this_cpu()->watched = tid;
}

/* A number that was a watched thread's is another's now; children of a watched one are watched. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct recorder_thread *thread = thread_of(parent->pid);
	char name[RECORDER_NAME] __attribute__((aligned(8)));
	u32 tid = child->pid;

	if (may_be_watched(tid))
		bpf_map_delete_elem(&threads, &tid);
	name_of(name, child);
	if (is_wanted(name))
		watch(tid, RECORDER_ALONE);
	if (!thread || thread->ended || thread->follow == RECORDER_ALONE)
		return 0;
	if (thread->follow == RECORDER_THREADS && child->tgid != parent->tgid)
		return 0;
	watch(tid, thread->follow);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *p, const char *name)
{
	char comm[RECORDER_NAME] = {};

	if (wanted_length && bpf_probe_read_kernel_str(comm, sizeof(comm), name) > 0 &&
	    is_wanted(comm) && !thread_of(p->pid))
		watch(p->pid, RECORDER_ALONE);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *p)
{
	struct recorder_thread *thread = thread_of(p->pid);

	if (thread) {
		name_of(thread->name, p);
		thread->ended = 1;
	}
	return 0;
}
