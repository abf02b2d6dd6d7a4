/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The border between the simulator, in Rust, and the scheduler, compiled for this machine from the
 * very text that is compiled for the kernel: src/sched/bpf.
 *
 * The simulator is the kernel here: it owns time, CPUs, queues and timers, and offers the functions
 * of struct sim_kernel. The scheduler is asked by struct sim_scheduler. Neither side has a rule:
 * rules are in the scheduler's policy.
 */
#ifndef ARTIS_SIM_H
#define ARTIS_SIM_H

#include "kernel.h"

/* A CPU as the scheduler sees it. Written by the simulator, but for what its functions write. */
struct sim_cpu {
	struct rq rq;
	struct hrtimer_cpu_base timers;	/* as of the last sim_kernel.timers() */
	struct hrtimer next;		/* timers.next_timer points here */
	struct hrtimer_sleeper sleeper;	/* whom that one wakes up */
	s64 first_expires;		/* the first of the list */
	struct pt_regs regs;		/* what the interrupt that goes on has interrupted */
	struct pt_regs *irq_regs;	/* ... or NULL */
	unsigned long preempt_count;	/* its fourth byte: 0x80 unless it is to reschedule */
};

struct sim_mask;

/* What both sides look at. */
struct sim_shared {
	struct sim_cpu *cpus;
	struct task_struct *current;	/* of the CPU that calls the scheduler */
	u64 now_ns;			/* the time of the event */
	u64 spent_ns;			/* and how long the scheduler has waited since */
	u64 spin_ns;			/* what a look at the clock takes */
	u64 jiffies;
	s32 cpu;			/* the CPU that calls */
	u32 nr_cpus;
};

/* What the simulator does for the scheduler, as the kernel would. */
struct sim_kernel {
	struct sim_shared *shared;
	struct hrtimer_cpu_base *(*timers)(s32 cpu);
	s32 (*create)(u64 dsq);
	void (*insert)(struct task_struct *p, u64 dsq, u64 slice, u64 flags, u64 vtime,
		       bool by_vtime);
	bool (*to_local)(u64 dsq, u64 flags);
	struct task_struct *(*peek)(u64 dsq);
	s32 (*queued)(u64 dsq);
	void (*walk)(u64 *state, u64 dsq);
	struct task_struct *(*walk_on)(u64 *state);
	bool (*move)(struct task_struct *p, u64 from, u64 to, u64 flags, u64 vtime, bool by_vtime);
	void (*hand_back)(s32 cpu);
	void (*kick)(s32 cpu, u64 flags);
	bool (*is_running)(struct task_struct *p);
	struct cpumask *(*idle_mask)(void);
	s32 (*pick_idle)(struct cpumask *allowed);
	s32 (*select_idle)(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   struct cpumask *allowed);
	struct cpumask *(*create_mask)(void);
	void (*set_bit)(struct cpumask *mask, u32 cpu);
	bool (*test_bit)(struct cpumask *mask, u32 cpu);
	bool (*intersects)(struct cpumask *a, struct cpumask *b);
	u32 (*any_of_both)(struct cpumask *a, struct cpumask *b);
	void (*start_timer)(struct bpf_timer *timer, u64 in_ns);
	void *(*array)(u64 bytes);
	void *(*find)(void *map, u64 key);
	void (*store)(void *map, u64 key, u32 value);
	void (*forget)(void *map, u64 key);
	void (*ends)(s64 code);
};

/* A last-level cache, or what counts as one: struct artis_llc of intf.h without its sizes. */
struct sim_llc {
	u32 first;
	u32 end;
	u32 rt_first;
	const u8 *near;
};

struct sim_config {
	u32 nr_cpus;
	u32 nr_rt;
	u32 nr_llcs;
	const u32 *rt_list;
	const u32 *llc_cpus;
	const struct sim_llc *llcs;
	const u8 *llc_of;		/* of each CPU */
	const u8 *is_rt;		/* the same */
};

struct sim_group {
	u64 id;
	u32 weight;
	u64 period_us;
	u64 quota_us;			/* ~0: no limit */
	u64 burst_us;
};

/* What the simulator asks of the scheduler: its operations and hooks, and what it knows. */
struct sim_scheduler {
	u64 task_bytes;			/* a task_struct, and behind it what is known of it */
	u32 cpus_max;
	u32 llcs_max;
	u32 counters;
	void (*reset)(const struct sim_kernel *kernel, const struct sim_config *config);
	s32 (*init)(void);
	void (*turn_on)(void);
	s32 (*init_task)(struct task_struct *p, struct cgroup *group);
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*yields)(struct task_struct *p);
	void (*running)(struct task_struct *p);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_cpumask)(struct task_struct *p, struct cpumask *mask);
	void (*any_tick)(void);		/* of any task, before tick() */
	void (*enters)(void);		/* the current task makes a system call */
	void (*faults)(void);		/* ... or has a page fault */
	void (*works)(void);		/* the kernel begins to handle that fault */
	s32 (*group)(struct cgroup *group, const struct sim_group *what);
	bool (*let_on)(void);		/* as artis, the process, does; are tasks stopped? */
	u64 (*look_ns)(bool stopped);	/* when it does so again */
	void (*timer)(struct bpf_timer *timer);
	u64 (*counter)(u32 cpu, u32 which);
	const char *(*counter_name)(u32 which);
	const char *(*queue_name)(u64 dsq);	/* to show it */
	const char *(*state_name)(struct task_struct *p);
};

#endif /* ARTIS_SIM_H */
