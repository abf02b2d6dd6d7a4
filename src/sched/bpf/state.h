/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scheduler knows: its configuration, a record per CPU, a record per task,
 * and what can be measured of a CPU or a task.
 */
#ifndef ARTIS_STATE_H
#define ARTIS_STATE_H

/* Written by the loader before load. */
const volatile u32 nr_cpus = 1;		/* possible CPUs, the last one's number plus one */
const volatile u32 nr_rt;		/* entries of rt_list */
const volatile u32 rt_list[ARTIS_CPUS_MAX];	/* RT CPUs, cache by cache */
const volatile u32 nr_llcs = 1;		/* last-level caches, or parts of them */
const volatile struct artis_llc llcs[ARTIS_LLCS_MAX];
const volatile u32 llc_cpus[ARTIS_CPUS_MAX];	/* all CPUs, cache by cache */
const volatile u32 sys_enter_id;	/* of the tracepoint, as perf knows it; 0: not used */
const volatile bool has_breakpoints;	/* on system calls; those end with an event's CPU */
const volatile u32 preempt_count_bytes = 4;	/* width of __preempt_count */
const volatile bool timers_are_exact;	/* see src/machine/local_timer.rs */
const volatile s32 rcu_pid;		/* the thread of RCU that is held, see grace_period.h; or 0 */
const volatile bool has_timers;		/* this kernel lets BPF programs have timers */

enum { SIDE_NRT, SIDE_RT, SIDES };

/* Set by the loader once every task is ours, cleared before it detaches. */
volatile bool on;

struct artis_cpu cpus[ARTIS_CPUS_MAX];
struct artis_exit ended;
s32 own_tgid;			/* of artis, the process, which says so before it attaches this */

u32 nr_rt_online;
u32 nr_nrt_online;

/* CPUs of each cache that are online, of a side. */
struct llc_online {
	u32 cpus[SIDES];
};

struct llc_online llc_online[ARTIS_LLCS_MAX];

/* Where the kernel keeps the queue of Linux tasks of a side, of each cache; see first_of(). */
struct llc_dsqs {
	u64 at[SIDES];
};

struct llc_dsqs llc_dsqs[ARTIS_LLCS_MAX];

/*
 * What spares a CPU a look at queues that are empty nearly always; a look takes the
 * kernel some 150 instructions, with the run queue locked.
 */
u64 left_rt_ns;			/* when a task was last queued that had been on an RT CPU */
bool rcu_stops;			/* the thread of RCU is about to stop, and to be held */
bool held_goes;			/* ... was held for long enough */
u64 queued_ns[8];		/* see queued(); of the shared queues that rarely have a task */
u32 nr_idle_nrt;		/* NRT CPUs that found no task when they looked last, see idles() */

u32 known_groups;		/* CPU cgroups with a weight, see group.h */
u8 was_shared;			/* there was one, see is_shared() */
u64 shared_mean;		/* the mean virtual time at the last place_shared() */
s64 served_behind;		/* how far behind it NRT CPUs serve: artis_behind() */
u32 limited_groups;		/* CPU cgroups that have a limit */
u64 looked_ns;			/* when artis last looked for tasks that they stopped, see release.h */

/* The virtual time of a side. The lock keeps its numbers together. */
struct pool {
	struct bpf_spin_lock lock;
	struct artis_pool tasks;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SIDES);
	__type(key, u32);
	__type(value, struct pool);
} pools SEC(".maps");

static struct pool *pool_of(u32 side)
{
	return bpf_map_lookup_elem(&pools, &side);
}

/*
 * The dispatch queues. The two of the RT side are the paper's RT-FIFO: an NRT
 * CPU pushes a task there, an RT CPU takes it when it likes, and neither ever
 * waits for the other's run-queue lock.
 */
enum {
	DSQ_NRT_KTHREAD = 0x100,	/* kernel threads that just woke up */
	DSQ_NRT_RT1,
	DSQ_RT_RT1,
	DSQ_HELD,		/* the thread of RCU */
	DSQ_STOPPED,		/* tasks whose CPU cgroup has used up its time */
	DSQ_BOTH_LINUX,		/* instead of DSQ_RT_LINUX while is_shared() */
	DSQ_NRT_LINUX = 0x200,	/* plus the cache */
	DSQ_RT_LINUX = 0x300,	/* plus the cache */
	DSQ_PINNED = 0x10000,	/* plus the CPU: tasks that may run there only */
	DSQ_KTHREAD = 0x20000,	/* plus the CPU: kernel threads that just woke up there */
};

struct task_ctx {
	u64 vtime;
	u64 deadline;		/* virtual: artis_deadline() */
	s64 lag;		/* how far behind the mean it was when it left its pool */
	u64 burst_ns;		/* it has run since it woke up */
	u64 usual_ns;		/* mean of its bursts */
	u64 charged_ns;		/* of the time that the kernel says it ran */
	u64 runnable_at_ns;	/* since when it waits for a CPU; 0: it does not */
	u64 stayed_ns;		/* on RT CPUs since it was promoted */
	u64 stopped_ns;		/* when its cgroup last stopped it */
	struct artis_calls calls;
	struct artis_trial trial;
	u64 group_vtime;	/* of its cgroup when it was placed last */
	u32 group;		/* its cgroup, a place in groups[]; 0: the root */
	u32 grouped;		/* the cgroup among whose runnable tasks it counts; 0: none */
	u32 grouped_weight;	/* with which it does */
	u32 pooled_weight;	/* with which it counts in the pool of its side; 0: it does not */
	u8 state;		/* enum artis_state: what is known of it */
	u8 affinity;		/* enum artis_affinity */
	u8 side;		/* where its virtual time counts; SIDES: nowhere yet */
	u8 is_on;		/* it runs, or RT0 displaced it and it goes on afterwards */
	u8 by_interrupt;	/* an interrupt woke it up */
	u8 owed;		/* it was not far ahead of its share when it became runnable */
	u8 llc;			/* the cache where it ran last; ARTIS_LLCS_MAX: nowhere yet */
	struct artis_placed placed;	/* where tasks share by their cgroups */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))
/*
 * One mask only: BPF's allocator holds one object of this size in store, and on
 * PREEMPT_RT a second one may not have come by the time it is asked for.
 */
private(masks) struct bpf_cpumask __kptr *nrt_mask;

extern const struct rq runqueues __ksym;
extern struct pt_regs *__irq_regs __ksym;
extern const struct hrtimer_cpu_base hrtimer_bases __ksym;
extern const unsigned long __preempt_count __ksym;

/*
 * The kernel's handler of the timers for which threads sleep, as know_kernel() finds it; 0: it
 * may not be known.
 */
u64 sleeper_handler;

static struct task_ctx *task_ctx(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, 0, 0);
}

/* The CPU where @p is. */
static s32 cpu_of(const struct task_struct *p)
{
	return p->thread_info.cpu;
}

/*
 * The record of a CPU. The loader refuses machines with more CPUs, so the mask
 * changes nothing; it is how the verifier sees that the index stays in bounds.
 */
static struct artis_cpu *cpu_record(s32 cpu)
{
	u32 index = cpu;

	barrier_var(index);
	return &cpus[index & (ARTIS_CPUS_MAX - 1)];
}

/* Does each of several caches have a queue of its own? The verifier knows the answer. */
static bool has_llcs(void)
{
	return nr_llcs > 1;
}

/* The last-level cache of @cpu. */
static u32 llc_of(s32 cpu)
{
	return has_llcs() ? cpu_record(cpu)->llc : 0;
}

static const volatile struct artis_llc *llc_at(u32 llc)
{
	barrier_var(llc);
	return &llcs[llc & (ARTIS_LLCS_MAX - 1)];
}

/* The cache that is the @nth nearest of @llc; the first is itself. */
static u32 near_llc(u32 llc, u32 nth)
{
	if (!has_llcs())
		return 0;
	barrier_var(nth);
	return llc_at(llc)->near[nth & (ARTIS_LLCS_MAX - 1)];
}

/* The CPUs of this side that are online at @llc. */
static u32 *online_at(u32 llc, bool rt)
{
	u32 side = rt;

	/* the verifier takes a bool for any number */
	barrier_var(llc);
	barrier_var(side);
	return &llc_online[llc & (ARTIS_LLCS_MAX - 1)].cpus[side & 1];
}

static u64 *linux_dsq_at(u32 llc, bool rt)
{
	u32 side = rt;

	barrier_var(llc);
	barrier_var(side);
	return &llc_dsqs[llc & (ARTIS_LLCS_MAX - 1)].at[side & 1];
}

/* The queue of this side at @llc. */
static u64 linux_queue(bool rt, u32 llc)
{
	return (rt ? DSQ_RT_LINUX : DSQ_NRT_LINUX) + llc;
}

/*
 * Does a task wait in @dsq_id? Then @deadline is that of the first one. @at is where the kernel
 * keeps that queue, once that is known: to find it by its number takes 150 instructions, with the
 * run queue locked. Where has_first_task() does not hold, the kernel is asked each time.
 */
static __always_inline bool first_of(u64 dsq_id, u64 *at, u64 *deadline)
{
	const struct scx_dispatch_q *dsq;
	const struct task_struct *first;

	if (*at && has_first_task()) {
		dsq = (void *)bpf_core_cast((void *)*at, struct scx_dispatch_q);
		first = dsq->first_task;
		if (!first)
			return false;
		*deadline = first->scx.dsq_vtime;
		return true;
	}
	first = scx_bpf_dsq_peek(dsq_id);
	if (!first)
		return false;
	*deadline = first->scx.dsq_vtime;
	dsq = first->scx.dsq;
	if (dsq && dsq->id == dsq_id)
		*at = (u64)dsq;
	return true;
}

/* The same of the Linux tasks that wait for this side at @llc. */
static __always_inline bool first_linux(bool rt, u32 llc, u64 *deadline)
{
	return first_of(linux_queue(rt, llc), linux_dsq_at(llc, rt), deadline);
}

/* Tasks in such queues of a side. */
static u32 linux_queued(bool rt)
{
	u32 llc, tasks = 0;

	if (!has_llcs())
		return scx_bpf_dsq_nr_queued(linux_queue(rt, 0));
	bpf_for(llc, 0, nr_llcs)
		tasks += scx_bpf_dsq_nr_queued(linux_queue(rt, llc));
	return tasks;
}

/* Are there CPU cgroups? Then tasks share the whole machine by their weights. */
static bool is_shared(void)
{
	return artis_is_shared(known_groups);
}

static bool is_rt(s32 cpu)
{
	return cpu_record(cpu)->rt;
}

static void count(enum artis_counter counter)
{
	cpu_record(bpf_get_smp_processor_id())->count[counter]++;
}

/* What kfuncs want to see of a bpf_cpumask. */
static const struct cpumask *as_mask(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

/* The number of the @i-th RT CPU. */
static s32 rt_cpu(u32 i)
{
	barrier_var(i);
	return rt_list[i & (ARTIS_CPUS_MAX - 1)];
}

/* The number of the @i-th CPU, cache by cache. */
static s32 llc_cpu(u32 i)
{
	barrier_var(i);
	return llc_cpus[i & (ARTIS_CPUS_MAX - 1)];
}

/*
 * Is a SCHED_FIFO or SCHED_RR task runnable on @cpu? Deadline tasks are not
 * asked for: a deadline server counts as one of them, and it is "runnable" all
 * the time that it runs one of our tasks.
 */
static bool rt0_runnable(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->rt.rt_nr_running;
}

/* Is @cpu an NRT CPU on which real-time tasks are runnable? */
static bool is_beset(s32 cpu)
{
	return artis_is_beset(is_rt(cpu), rt0_runnable(cpu));
}

/*
 * Notes that an NRT CPU found no task, and so is about to idle, or that it has one. Under
 * load none idles, and a wakeup sees that by one number: the kernel's mask of idle CPUs is
 * the exact answer, and a look at it takes 200 instructions. What the kernel does without
 * asking for a task (bypass, while the machine is suspended) is repaired at a tick.
 */
static void idles(struct artis_cpu *record, bool does)
{
	u32 now = does;

	/* hotplug writes it from elsewhere: who changes it counts */
	if (record->idles != now && __sync_lock_test_and_set(&record->idles, now) != now)
		__sync_fetch_and_add(&nr_idle_nrt, does ? 1 : -1);
}

/* The clock of @cpu, whose run queue is locked: scx_bpf_now() at a seventh of its cost. */
static u64 clock_of(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->clock : scx_bpf_now();
}

/* Tasks in the own queue of @cpu. */
static u32 local_queued(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->scx.local_dsq.nr : 0;
}

/* Is @p, on the CPU of @record, enqueued because it waited behind a long burst of RT0? */
static bool is_handed_back(const struct artis_cpu *record, const struct task_struct *p,
			   u64 enq_flags)
{
	return enq_flags & SCX_ENQ_REENQ ||
	       (hands_back_late() && record->late_pid == (u32)p->pid);
}

/*
 * When a task was last queued in one of the shared queues that rarely have one; 0: not
 * since the queue was last seen empty.
 */
static u64 *queued_at(u64 dsq)
{
	u32 index = dsq - DSQ_NRT_KTHREAD;

	barrier_var(index);
	return &queued_ns[index & 7];
}

/*
 * Tasks in such a queue. The kernel inserts a task after ops.enqueue(), so an empty
 * queue is believed only some time after that. @look: also if no task was queued.
 */
static u32 queued(u64 dsq, u64 now, bool look)
{
	u64 *at = queued_at(dsq), last = *at;
	u32 tasks;

	if (!last && !look)
		return 0;
	tasks = scx_bpf_dsq_nr_queued(dsq);
	if (!tasks && last && artis_is_inserted(now, last))
		__sync_val_compare_and_swap(at, last, 0);
	return tasks;
}

static enum artis_class class_of(const struct task_struct *p)
{
	return artis_classify(p->policy, p->flags & PF_KTHREAD);
}

/* Is @p a thread of artis, the process? */
static bool is_own(const struct task_struct *p)
{
	return p->tgid == own_tgid;
}

/* May @p work in the kernel wherever it is? */
static bool is_exempt(const struct task_struct *p)
{
	return artis_is_exempt(p->policy, p->flags & PF_KTHREAD);
}

/* The class of our task that runs on @cpu. */
static enum artis_class class_on(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	const struct task_struct *p = rq ? rq->curr : NULL;

	/* the idle task has the number 0 */
	if (!p || !p->pid || artis_is_rt0(p->policy))
		return ARTIS_CLASS_NONE;
	return class_of(p);
}

/* Will this CPU look for its next task as soon as preemption is on? */
static bool will_reschedule(void)
{
	const u8 *count = bpf_this_cpu_ptr(&__preempt_count);

	return ARCH_WILL_RESCHEDULE(count, preempt_count_bytes);
}

/* Is this an interrupt of a device or a timer, and not one that another CPU asked for? */
static bool in_interrupt(void)
{
	struct pt_regs **regs = bpf_this_cpu_ptr(&__irq_regs);

	return regs && *regs;
}

/*
 * Does RT0 take this CPU next? To be runnable is not enough: a CPU that wakes it up
 * from elsewhere asks for that a moment later, enough for a short system call.
 */
static bool rt0_comes(void)
{
	return rt0_runnable(bpf_get_smp_processor_id()) && will_reschedule();
}

/*
 * When the next timer of @cpu is due, by the monotonic clock. After the interrupt
 * of one, newer kernels set up the hardware for the next when they have switched.
 */
static u64 next_timer(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);

	if (!timers)
		return ~0ULL;
	if (bpf_core_field_exists(timers->deferred_rearm) && timers->deferred_rearm)
		return timers->deferred_expires_next;
	return timers->expires_next;
}

/*
 * When the first timer in the kernel's list for @cpu is due; 0 where there is
 * none. What is asked in a timer's interrupt, when the kernel itself does not know
 * its next one yet.
 */
static u64 first_timer(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);
	const struct rb_node_linked *node;

	/* older kernels keep their timers in a tree only */
	if (!timers || !bpf_core_type_exists(struct timerqueue_linked_node))
		return 0;
	node = timers->clock_base[0].active.rb_root.rb_leftmost;
	if (!node)
		return 0;
	return bpf_core_cast(node, struct timerqueue_linked_node)->expires;
}

/* Does the next timer of @cpu wake up an RT0 that takes the CPU at once? */
static bool timer_brings_rt0(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);
	const struct task_struct *p;
	const struct hrtimer *next;

	if (!timers || !timers_are_exact || !sleeper_handler)
		return false;
	next = timers->next_timer;
	if (!next || (u64)next->function != sleeper_handler)
		return false;
	p = bpf_core_cast(next, struct hrtimer_sleeper)->task;
	return p && artis_timer_brings(p->policy, p->nr_cpus_allowed, cpu_of(p) == cpu);
}

/* Would RT0's timer on @cpu meet what begins there now and takes @takes_ns? */
static bool rt0_due(s32 cpu, u64 takes_ns)
{
	return artis_finds(next_timer(cpu), bpf_ktime_get_ns(), takes_ns);
}

/* Would it meet a switch of tasks? */
static bool switch_meets_rt0(s32 cpu)
{
	return rt0_due(cpu, cpu_record(cpu)->switch_ns);
}

/* Would another CPU that locks the run queue of @cpu, an RT CPU, meet RT0 there? */
static bool lock_meets_rt0(s32 cpu)
{
	return artis_meets_rt0(rt0_runnable(cpu), next_timer(cpu), bpf_ktime_get_ns(),
			       cpu_record(cpu)->switch_ns);
}

/*
 * A switch of tasks begins on the CPU of @record, or did and another way was
 * taken: RT0 took the CPU, or the task goes on. ops.running() ends it.
 */
static void begin_switch(struct artis_cpu *record)
{
	record->switch_began_ns = bpf_ktime_get_ns();
}

static void drop_switch(struct artis_cpu *record)
{
	record->switch_began_ns = 0;
}

static void end_switch(struct artis_cpu *record)
{
	if (record->switch_began_ns)
		artis_switch_note(&record->switch_ns,
				  bpf_ktime_get_ns() - record->switch_began_ns);
	record->switch_began_ns = 0;
}

/* Does a kernel thread that woke up wait for @cpu, where its task of @class makes room for it? */
static bool kthread_waits(s32 cpu, enum artis_class class)
{
	return cpu_record(cpu)->kthread_queued && artis_displaces(ARTIS_CLASS_KTHREAD, class) &&
	       scx_bpf_dsq_nr_queued(DSQ_KTHREAD + cpu) > 0;
}

/* May another CPU take a SCHED_FIFO or SCHED_RR task from @cpu before it ran there? */
static bool rt0_may_be_taken(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->rt.overloaded;
}

/* Share of @cpu that the classes above ours take, of ARTIS_CAPACITY. */
static u32 rt_util(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->avg_rt.util_avg + rq->avg_dl.util_avg : 0;
}

/* Does @cpu have a task of ours, @running (see class_on()) or displaced? */
static bool hosts(s32 cpu, enum artis_class running)
{
	return artis_is_ours(running) || local_queued(cpu);
}

/* The weight of the runnable tasks of a side. It may be about to change: no lock. */
static u64 pooled_weight(u32 side)
{
	const struct pool *pool = pool_of(side);

	return pool ? pool->tasks.weight : 0;
}

/* Global, and so verified once. */
__noinline int measure_rt_side(struct artis_side *rt __arg_nonnull)
{
	u32 i, util = 0;

	rt->rt1_tasks = scx_bpf_dsq_nr_queued(DSQ_RT_RT1);
	rt->tasks = rt->rt1_tasks + linux_queued(true);
	if (was_shared)
		rt->tasks += scx_bpf_dsq_nr_queued(DSQ_BOTH_LINUX);
	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		u32 tasks = artis_is_ours(class_on(cpu)) + local_queued(cpu);

		util += rt_util(cpu);
		if (!tasks)
			continue;
		/* both of a switch: the next one is there before the last one is queued */
		rt->tasks += tasks;
		rt->rt1_tasks += artis_is_rt1(cpu_record(cpu)->hosted_class);
	}
	rt->cpus = nr_rt_online;
	rt->rt_util = nr_rt ? util / nr_rt : 0;
	rt->weight = pooled_weight(SIDE_RT);
	return 0;
}

/* @cpu: an NRT CPU whose pinned tasks compete with the shared queue, or -1. */
static void measure_nrt_side(struct artis_side *nrt, s32 cpu)
{
	nrt->cpus = nr_nrt_online;
	nrt->rt1_tasks = 0;
	nrt->tasks = nr_nrt_online + scx_bpf_dsq_nr_queued(DSQ_NRT_KTHREAD) +
		     scx_bpf_dsq_nr_queued(DSQ_NRT_RT1) + linux_queued(false);
	if (cpu >= 0)
		nrt->tasks += scx_bpf_dsq_nr_queued(DSQ_PINNED + cpu);
	/* RT0 tasks may run on NRT CPUs too; nobody promised anything there */
	nrt->rt_util = 0;
	nrt->weight = pooled_weight(SIDE_NRT);
}

/*
 * May the task not change CPU at the moment? While one of our operations runs
 * for the current task, BPF itself holds its migration disabled once.
 */
static bool is_migration_disabled(struct task_struct *p)
{
	if (p->migration_disabled == 1)
		return bpf_get_current_task_btf() != p;
	return p->migration_disabled;
}

static enum artis_affinity affinity_of(struct task_struct *p)
{
	bool nrt = true, rt = false;
	struct bpf_cpumask *mask;
	u32 i;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		nrt = bpf_cpumask_intersects(as_mask(mask), p->cpus_ptr);
	bpf_for(i, 0, nr_rt) {
		rt = bpf_cpumask_test_cpu(rt_cpu(i), p->cpus_ptr);
		if (rt)
			break;
	}
	bpf_rcu_read_unlock();
	return artis_affinity(p->nr_cpus_allowed, nrt, rt);
}

/* May @p run on @cpu? Not asked of a task whose migration is disabled. */
static bool may_use(const struct task_struct *p, s32 cpu)
{
	/* most may use all: no call then */
	return (u32)p->nr_cpus_allowed == nr_cpus || bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* May @p wait for @cpu, of this side? */
static bool may_wait_for(const struct task_struct *p, s32 cpu, bool rt)
{
	const struct artis_cpu *record = cpu_record(cpu);

	return artis_serves(record->rt, record->offline, rt) && may_use(p, cpu);
}

static s32 find_near_cpu(const struct task_struct *p, s32 from, bool rt)
{
	u32 own = llc_of(from), nth, at;

	if (may_wait_for(p, from, rt))
		return from;
	bpf_for(nth, 0, nr_llcs) {
		u32 llc = near_llc(own, nth);

		if (!*online_at(llc, rt))
			continue;
		bpf_for(at, llc_at(llc)->first, llc_at(llc)->end) {
			s32 cpu = llc_cpu(at);

			if (may_wait_for(p, cpu, rt))
				return cpu;
		}
	}
	return -1;
}

/*
 * The CPU of this side that is nearest to @from and that @p may use; negative: there is
 * none. Global: verified once. The RCU section is for let_on(), a program that may sleep.
 */
__noinline s32 near_cpu(const struct task_struct *p __arg_trusted, s32 from, bool rt)
{
	s32 cpu;

	bpf_rcu_read_lock();
	cpu = find_near_cpu(p, from, rt);
	bpf_rcu_read_unlock();
	return cpu;
}

/* The queue of this side where @p waits: of the cache where it is, or else the nearest one. */
static u64 queue_for(const struct task_struct *p, bool rt)
{
	s32 cpu;

	if (!has_llcs())
		return linux_queue(rt, 0);
	cpu = near_cpu(p, cpu_of(p), rt);
	return linux_queue(rt, llc_of(cpu < 0 ? cpu_of(p) : cpu));
}

/* Does the affinity of @p leave no choice but the CPUs it has? */
static bool is_bound(const struct task_ctx *t)
{
	return t && artis_is_bound(t->affinity);
}

/*
 * What the policy may ask of @p. Whether it may change CPU takes a call, so it is
 * filled in by view_fixed() where it is asked.
 */
static __always_inline struct artis_task_view view_of(const struct task_struct *p,
						      const struct task_ctx *t)
{
	return (struct artis_task_view){
		.class = class_of(p),
		.affinity = t->affinity,
		.state = t->state,
		.weight = t->pooled_weight,
	};
}

static __always_inline struct artis_task_view view_fixed(struct task_struct *p,
							 const struct task_ctx *t)
{
	struct artis_task_view view = view_of(p, t);

	view.fixed = is_migration_disabled(p);
	return view;
}

#endif /* ARTIS_STATE_H */
