/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that artis' BPF programs touch, and no others.
 *
 * Every struct here holds only the members we read; CO-RE finds their real
 * offsets in the running kernel's BTF when the program is loaded. That is why
 * there is no vmlinux.h: 140,000 generated lines of which we would use these.
 * A member that only some kernels have is asked for with
 * bpf_core_field_exists() before it is read.
 */
#ifndef ARTIS_KERNEL_H
#define ARTIS_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;
typedef u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* bpf_helper_defs.h names these map types and attribute enums by value only. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1ULL << 0,
};

/* include/uapi/linux/sched.h */
enum {
	SCHED_FIFO = 1,
	SCHED_RR = 2,
	SCHED_DEADLINE = 6,
};

/* include/uapi/linux/time.h */
enum {
	CLOCK_MONOTONIC = 1,
};

/* include/uapi/linux/bpf.h */
enum {
	BPF_F_TIMER_CPU_PIN = 1 << 1,
};

/* include/linux/sched.h */
enum {
	PF_KTHREAD = 0x00200000,
	TASK_COMM_LEN = 16,
};

/* include/linux/mm_types.h */
enum {
	FAULT_FLAG_TRIED = 1 << 5,
	FAULT_FLAG_USER = 1 << 6,
};

/* state of bpf_for(); opaque to the program */
struct bpf_iter_num {
	u64 state;
} __attribute__((aligned(8)));

/* the kernel finds these two in a map's value by their names */
struct bpf_spin_lock {
	u32 val;
};

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct vm_area_struct;
struct kernel_siginfo;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

/* what bpf_cpumask_create() gives; its first member is the mask */
struct bpf_cpumask {
	struct cpumask cpumask;
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	u64 id;
	const char *name;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct rb_node_linked;

struct rb_root_linked {
	struct rb_node_linked *rb_leftmost;
};

struct timerqueue_linked_head {
	struct rb_root_linked rb_root;
};

/* its first member is the struct rb_node_linked; newer kernels have it */
struct timerqueue_linked_node {
	s64 expires;
};

struct timerqueue_node {
	s64 expires;
};

struct hrtimer_clock_base {
	s32 clockid;
	s64 offset;
	struct timerqueue_linked_head active;
};

struct hrtimer {
	struct timerqueue_node node;
	s64 _softexpires;
	void *function;
	const struct hrtimer_clock_base *base;
	u8 is_soft;
};

struct hrtimer_cpu_base {
	s64 expires_next;
	/* where the next event is set up after the switch; older kernels have neither */
	bool deferred_rearm;
	s64 deferred_expires_next;
	const struct hrtimer *next_timer;
	struct hrtimer_clock_base clock_base[8];	/* the first is CLOCK_MONOTONIC */
};

/* of a thread that sleeps until a moment */
struct hrtimer_sleeper {
	const struct task_struct *task;
};

struct rt_rq {
	unsigned int rt_nr_running;
	bool overloaded;
	int rt_throttled;
};

struct dl_rq {
	unsigned int dl_nr_running;
};

/* only newer kernels keep the first task of each */
struct scx_dispatch_q {
	struct task_struct *first_task;
	struct list_head list;
	u32 nr;
	u64 id;
};

struct scx_rq {
	struct scx_dispatch_q local_dsq;
	u32 nr_running;
};

struct rq {
	struct task_struct *curr;
	struct scx_rq scx;
	u64 clock;
	u64 clock_task;
	struct rt_rq rt;
	struct dl_rq dl;
	u64 prev_steal_time_rq;
};

struct cfs_bandwidth {
	struct hrtimer period_timer;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttle_count;
	bool throttled : 1;
};

struct scx_dsq_list_node {
	struct list_head node;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	struct scx_dsq_list_node dsq_list;
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
	struct sched_entity *parent;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
};

struct sched_info {
	u64 last_arrival;
};

struct signal_struct {
	unsigned int flags;
};

struct thread_info {
	u32 cpu;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rt_mutex_waiter {
	struct rt_mutex_base *lock;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int policy;
	unsigned int __state;
	int prio;
	int static_prio;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	unsigned int in_iowait : 1;
	bool throttled;
	unsigned long jobctl;
	unsigned long ptrace_message;
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct sched_dl_entity dl;
	struct sched_dl_entity *dl_server;
	struct rt_mutex_waiter *pi_blocked_on;
	struct sched_info sched_info;
	const struct signal_struct *signal;
	char comm[TASK_COMM_LEN];
};

struct irqaction {
	const char *name;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
};

struct net_device {
	char name[TASK_COMM_LEN];
};

struct napi_struct {
	struct net_device *dev;
};

struct sk_buff {
	struct net_device *dev;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
};

/* of a CPU: packets from devices that have no queue of their own */
struct softnet_data {
	struct sk_buff_head input_pkt_queue;
	struct napi_struct backlog;
};

#pragma clang attribute pop

#include "arch.h"

#endif /* ARTIS_KERNEL_H */
