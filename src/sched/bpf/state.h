/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scheduler knows: its configuration, a record per CPU, a record per task.
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

/* NRT and RT, or not and so */
#define SIDES 2

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

/* Where the kernel keeps queues, see queues.h: those of Linux tasks of each cache, ... */
struct llc_places {
	u64 at[SIDES];
};

struct llc_places llc_places[ARTIS_LLCS_MAX];
u64 places[8];			/* ... and those that there is one of */

u64 left_rt_ns;			/* when a task was last queued that had been on an RT CPU */
bool rcu_stops;			/* the thread of RCU is about to stop, and to be held */
bool held_goes;			/* ... was held for long enough */
u64 held_ns;			/* ... since then, the last time */
u32 nr_idle_nrt;		/* NRT CPUs that found no task when they looked last, see idles() */

u64 served_vtime;		/* where NRT CPUs serve in virtual time: artis_served() */
u32 limited_groups;		/* CPU cgroups that have a limit */
u64 looked_ns;			/* when artis last looked for tasks that they stopped, see release.h */

/* RT1+ tasks of a level: artis_rt1_low(), and when that was. Not exact where CPUs race. */
struct rt1_level {
	u64 low;
	u64 at_ns;
};

struct rt1_level rt1_levels[ARTIS_RT1_LEVELS];

/* Virtual time. The lock keeps its numbers together. */
struct pool {
	struct bpf_spin_lock lock;
	struct artis_pool tasks;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pool);
} pools SEC(".maps");

static struct pool *the_pool(void)
{
	u32 only = 0;

	return bpf_map_lookup_elem(&pools, &only);
}

/*
 * The dispatch queues. Those from which RT CPUs take are the paper's RT-FIFO: an NRT CPU pushes a
 * task there, an RT CPU takes it when it likes, and neither ever waits for the other's run-queue
 * lock. RT1+ and Linux tasks have one for the NRT CPUs, one for all, and one for each CPU.
 */
enum {
	DSQ_NRT_KTHREAD = 0x100,	/* kernel threads that just woke up */
	DSQ_NRT_RT1,
	DSQ_BOTH_RT1,		/* in user mode, for all CPUs */
	DSQ_HELD,		/* the thread of RCU */
	DSQ_STOPPED,		/* tasks whose CPU cgroup has used up its time */
	DSQ_SINGLE_END,
	DSQ_NRT_LINUX = 0x200,	/* plus the cache */
	DSQ_BOTH_LINUX = 0x300,	/* plus the cache: in user mode, for all CPUs */
	DSQ_PINNED = 0x10000,	/* plus the CPU: other tasks that may run there only */
	DSQ_KTHREAD = 0x20000,	/* plus the CPU: kernel threads that just woke up there */
	DSQ_PINNED_RT1 = 0x30000,	/* plus the CPU: RT1+ tasks that may run there only */
};

struct task_ctx {
	u64 vtime;
	u64 deadline;		/* virtual: artis_deadline() */
	s64 lag;		/* how far behind its level it was when it left the pool */
	u64 burst_ns;		/* it has run since it woke up */
	u64 usual_ns;		/* mean of its bursts */
	u64 charged_ns;		/* of the time that the kernel says it ran */
	u64 runnable_at_ns;	/* since when it waits for a CPU; 0: it does not */
	u64 stayed_ns;		/* on RT CPUs since it was promoted */
	u64 stopped_ns;		/* when its cgroup last stopped it */
	struct artis_calls calls;
	struct artis_trial trial;
	u64 group_vtime;	/* of its cgroup when it was placed last */
	u64 rt1_had;		/* what it had of the CPUs, for artis_rt1_rank() */
	u32 group;		/* its cgroup, a place in groups[]; 0: the root */
	u32 grouped;		/* the cgroup among whose runnable tasks it counts; 0: none */
	u32 grouped_weight;	/* with which it does */
	u32 pooled_weight;	/* with which it counts in the pool; 0: it does not */
	s32 served_on;		/* the CPU that serves it, as far as is known */
	u64 slid;		/* by how much that CPU was moved, as far as the task followed */
	u8 state;		/* enum artis_state: what is known of it */
	u8 affinity;		/* enum artis_affinity */
	u8 known;		/* it has a place in virtual time */
	u8 is_on;		/* it runs, or RT0 displaced it and it goes on afterwards */
	u8 by_interrupt;	/* an interrupt woke it up */
	u8 enters;		/* it is queued because it entered the kernel on an RT CPU */
	u8 confined;		/* it may not use all CPUs */
	u8 makes_way;		/* it was promoted because another one is to come before it */
	u8 yields;		/* it called sched_yield(), and nobody has run since */
	u8 owed;		/* it was not far ahead of its share when it became runnable */
	u8 llc;			/* the cache where it ran last; ARTIS_LLCS_MAX: nowhere yet */
	struct artis_placed placed;
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

#endif /* ARTIS_STATE_H */
