/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that the recorder reads beside those of kernel.h. They do not
 * stand there because kernel.h is part of the scheduler's object, whose bytes
 * decide the lab's figures. libbpf ignores what follows "___" in a name.
 */
#ifndef ARTIS_RECORDER_TYPES_H
#define ARTIS_RECORDER_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___recorder {
	u32 cpu;
};

struct rt_mutex_base___recorder {
	struct task_struct *owner;
};

struct rt_mutex_waiter___recorder {
	struct rt_mutex_base___recorder *lock;
};

struct sched_dl_entity___recorder {
	u64 dl_period;
	unsigned int dl_throttled : 1;
};

struct rt_rq___recorder {
	int rt_throttled;
};

struct rq___recorder {
	struct rt_rq___recorder rt;
	u64 prev_steal_time_rq;
};

struct kernfs_node___recorder {
	const char *name;
	u64 id;
};

struct cgroup___recorder {
	struct kernfs_node___recorder *kn;
};

struct cgroup_subsys_state___recorder {
	struct cgroup___recorder *cgroup;
};

struct hrtimer_clock_base___recorder {
	s64 offset;
};

struct timerqueue_node___recorder {
	s64 expires;
};

struct hrtimer___recorder {
	struct timerqueue_node___recorder node;
	s64 _softexpires;
	void *function;
	struct hrtimer_clock_base___recorder *base;
	u8 is_soft;
};

struct cfs_bandwidth___recorder {
	struct hrtimer___recorder period_timer;
};

struct task_group___recorder {
	struct cgroup_subsys_state___recorder css;
	struct cfs_bandwidth___recorder cfs_bandwidth;
};

struct cfs_rq___recorder {
	struct rq___recorder *rq;
	struct task_group___recorder *tg;
	int throttle_count;
	bool throttled : 1;
};

struct sched_entity___recorder {
	struct cfs_rq___recorder *cfs_rq;
	struct sched_entity___recorder *parent;
};

struct task_struct___recorder {
	struct sched_entity___recorder se;
	struct thread_info___recorder thread_info;
	unsigned long jobctl;
	unsigned int in_iowait : 1;
	bool throttled;
	struct sched_dl_entity___recorder dl;
	struct rt_mutex_waiter___recorder *pi_blocked_on;
	struct sched_dl_entity___recorder *dl_server;
	char comm[RECORDER_NAME];
};

struct pt_regs___recorder {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long orig_ax;
};

struct irqaction___recorder {
	const char *name;
};

struct timer_list___recorder {
	void *function;
};

struct work_struct___recorder {
	void *func;
};

struct delayed_work___recorder {
	struct work_struct___recorder work;
	struct timer_list___recorder timer;
};

struct net_device___recorder {
	char name[RECORDER_NAME];
};

struct napi_struct___recorder {
	struct net_device___recorder *dev;
};

#pragma clang attribute pop

struct work_struct;
struct irqaction;
struct timer_list;
struct napi_struct;
struct kernel_siginfo;

#endif /* ARTIS_RECORDER_TYPES_H */
