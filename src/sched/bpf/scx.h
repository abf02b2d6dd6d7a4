/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched_ext as the kernel offers it: its constants, the operations and the
 * kernel functions artis calls. Every kernel from 6.16 on has what is declared
 * here; the loader asks the kernel's BTF for it before it loads anything. What only
 * some have, and what is done without it, is in scx_compat.h.
 */
#ifndef ARTIS_SCX_H
#define ARTIS_SCX_H

/* include/linux/sched/ext.h, kernel/sched/ext/ */
#define SCX_DSQ_FLAG_BUILTIN (1ULL << 63)
#define SCX_DSQ_FLAG_LOCAL_ON (1ULL << 62)
#define SCX_DSQ_LOCAL (SCX_DSQ_FLAG_BUILTIN | 2)
#define SCX_DSQ_LOCAL_ON (SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON)

enum {
	SCX_OPS_ENQ_LAST = 1ULL << 1,
	SCX_OPS_ENQ_EXITING = 1ULL << 2,
	SCX_OPS_ENQ_MIGRATION_DISABLED = 1ULL << 4,
	SCX_OPS_ALLOW_QUEUED_WAKEUP = 1ULL << 5,
};

enum {
	SCX_ENQ_WAKEUP = 1ULL << 0,
	SCX_ENQ_PREEMPT = 1ULL << 32,
	SCX_ENQ_IMMED = 1ULL << 33,
	SCX_ENQ_REENQ = 1ULL << 40,
};

/* of the kernel that runs: its value is that of ENQUEUE_HEAD, which changed */
enum scx_enq_flags___head {
	SCX_ENQ_HEAD___head = 1,
};
#define SCX_ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags___head, SCX_ENQ_HEAD___head)

enum {
	SCX_WAKE_SYNC = 1ULL << 4,
};

enum {
	SCX_DEQ_SLEEP = 1ULL << 0,
};

enum {
	SCX_KICK_IDLE = 1ULL << 0,
	SCX_KICK_PREEMPT = 1ULL << 1,
};

enum {
	SCX_TASK_QUEUED = 1 << 0,
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

/* state of a walk through a queue; opaque to the program */
struct bpf_iter_scx_dsq {
	u64 state[6];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;	/* with CONFIG_EXT_GROUP_SCHED */
};

struct scx_cgroup_init_args {
	u32 weight;
	bool sched_idle;	/* newer kernels have it */
	u64 bw_period_us;	/* 6.17 and newer */
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*running)(struct task_struct *p);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	/* with CONFIG_EXT_GROUP_SCHED; the last two are newer */
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period_us, u64 quota_us,
				     u64 burst_us);
	void (*cgroup_set_idle)(struct cgroup *cgrp, bool idle);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	u64 hotplug_seq;
	char name[128];
};

#pragma clang attribute pop

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
/* the state of the bpf_for_each() around it */
#define BPF_FOR_EACH_ITER (&___it)
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
		      u64 enq_flags) __ksym;
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime) __ksym;
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask) __ksym;
s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) __ksym;
u64 scx_bpf_now(void) __ksym;
void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) __ksym;

/* kernel/bpf/cpumask.c */
struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

#include "scx_compat.h"

#endif /* ARTIS_SCX_H */
