/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the flight recorder shares with its keeper. The only statement of it:
 * Rust gets these types through the generated skeleton. All times are
 * CLOCK_MONOTONIC, nanoseconds.
 */
#ifndef ARTIS_RECORDER_H
#define ARTIS_RECORDER_H

/* CPUs a machine may have; a larger one is refused when the recorder is loaded. */
#define RECORDER_CPUS_MAX 1024
/* Events, marks and stacks of each CPU; powers of two. */
#define RECORDER_EVENTS 65536
#define RECORDER_MARKS 256
#define RECORDER_STACKS 256
/* Return addresses of a stack. */
#define RECORDER_DEPTH 24
/* Threads that may be watched at a time. */
#define RECORDER_THREADS_MAX 16384
/* Bits that tell threads which are watched from most others; two threads may share one. */
#define RECORDER_NUMBERS 32768
/* Owners of locks that are followed, from a waiting thread on. */
#define RECORDER_CHAIN 4
#define RECORDER_NAME 16
/* Clocks that can be set, by their numbers. */
#define RECORDER_CLOCKS 16
/* Sets by less are not seen. */
#define RECORDER_CLOCK_STEP_NS 50000

enum recorder_kind {
	RECORDER_NOTHING,
	RECORDER_SWITCH,
	RECORDER_WAKING,
	RECORDER_WAKEUP,
	RECORDER_MIGRATE,
	RECORDER_HRTIMER_ENTRY,
	RECORDER_HRTIMER_EXIT,
	RECORDER_IRQ_ENTRY,
	RECORDER_IRQ_EXIT,
	RECORDER_VECTOR_ENTRY,
	RECORDER_VECTOR_EXIT,
	RECORDER_SOFTIRQ_ENTRY,
	RECORDER_SOFTIRQ_EXIT,
	RECORDER_TIMER_ENTRY,
	RECORDER_TIMER_EXIT,
	RECORDER_CSD_ENTRY,
	RECORDER_CSD_EXIT,
	RECORDER_CSD_SEND,
	RECORDER_SYS_ENTER,
	RECORDER_SYS_EXIT,
	RECORDER_FAULT,
	RECORDER_FAULT_DONE,
	RECORDER_CONTENTION_BEGIN,
	RECORDER_CONTENTION_END,
	RECORDER_WORK_START,
	RECORDER_WORK_END,
	RECORDER_IDLE,
	RECORDER_SCHED_EXIT,
	RECORDER_OWNER,
	RECORDER_NAPI,
	RECORDER_PRIORITY,
	RECORDER_LIMITED,
	RECORDER_SIGNAL,
	RECORDER_CLOCK_SET,
	RECORDER_RECLAIM,
	RECORDER_RECLAIM_DONE,
};

/* Interrupts that the processor itself or another CPU makes. */
enum recorder_vector {
	RECORDER_LOCAL_TIMER,
	RECORDER_RESCHEDULE,
	RECORDER_CALL_FUNCTION,
	RECORDER_IRQ_WORK,
	RECORDER_PLATFORM,
	RECORDER_THERMAL,
	RECORDER_APIC_ERROR,
};

/* Of RECORDER_SWITCH. */
enum recorder_switch_flags {
	RECORDER_PREEMPTED = 1 << 0,	/* the one that goes did not want to */
	RECORDER_SERVER = 1 << 1,	/* the one that comes is run by a deadline server */
	RECORDER_THROTTLED = 1 << 2,	/* the CPU's real-time tasks have used up their budget */
	RECORDER_KTHREAD = 1 << 3,	/* the one that comes is a thread of the kernel */
	RECORDER_DISK = 1 << 4,		/* the one that goes waits for a disk */
	RECORDER_FROZEN = 1 << 5,	/* the one that goes is frozen */
	RECORDER_BUDGET = 1 << 6,	/* the one that goes has used up its deadline budget */
	RECORDER_UNTRACED = 1 << 7,	/* the kernel did not trace it; it was after a */
};

/* Where parts of b begin: policy, how long ago the scheduler began, stack. */
enum recorder_switch_parts {
	RECORDER_POLICY_AT = 16,
	RECORDER_SCHEDULER_AT = 24,
	RECORDER_STACK_AT = 48,
};

/* Of RECORDER_HRTIMER_ENTRY. */
enum recorder_timer_flags {
	RECORDER_IN_USER_MODE = 1 << 0,	/* its interrupt came in user mode */
	RECORDER_CALL_KNOWN = 1 << 1,	/* name, from the ninth byte on: the call that it came into */
	RECORDER_OF_LIMIT = 1 << 2,	/* name: the timer, which ends a period of a cgroup's limit */
	RECORDER_SETTABLE = 1 << 3,	/* its clock is one that can be set */
};

/* Of RECORDER_RECLAIM: what is short of memory. */
enum recorder_reclaim {
	RECORDER_MACHINE,
	RECORDER_CGROUP,
	RECORDER_COMPACTION,	/* there is no large piece of it */
};

/* What happened, one cache line. Which member means what stands at the program that writes it. */
struct recorder_event {
	u64 ns;
	u32 number;	/* of the CPU's events, from 1 on; RECORDER_HALF_DONE while it is written */
	u16 kind;
	u16 what;
	u32 pid;
	u32 other;
	u64 a;
	u64 b;
	u64 steal_ns;	/* that the hypervisor has taken from this CPU so far; 0: not looked at */
	char name[RECORDER_NAME];
} __attribute__((aligned(64)));

#define RECORDER_HALF_DONE 0xffffffffU

/* A kernel stack, beginning with the function that was running. */
struct recorder_stack {
	u64 ns;		/* of the event that has it; 0 while it is written */
	u64 depth;
	u64 address[RECORDER_DEPTH];
};

/* What a thread lost. */
enum recorder_loss {
	RECORDER_LATE,		/* due to running again */
	RECORDER_LOCKED_OUT,	/* asking for a lock to having it */
	RECORDER_STRETCHED,	/* an activation: running to blocking again */
	RECORDER_LOSSES,
	RECORDER_LATE_LONGER,	/* the last one: it was counted to its end, and went on since */
};

/* An interval that is worth keeping, written by the CPU on which it ended. */
struct recorder_mark {
	u64 due_ns;
	u64 waking_ns;
	u64 end_ns;
	u64 lost_ns;
	u64 from_ns;	/* where its history begins: it slept for a timer that was due then */
	u32 number;	/* as of events */
	s32 call;	/* in which it slept then */
	u16 waits;	/* it waited in calls of its own: what others did before counts, too */
	u16 busy;	/* it did something else at from_ns */
	u32 tid;
	u32 tgid;
	u32 loss;
	u32 policy;
	s32 prio;
	char name[RECORDER_NAME];
};

/* A watched thread. Changed by who wakes it, switches to it, or by itself: one after the other. */
struct recorder_thread {
	u64 due_ns;
	u64 waking_ns;
	u64 lock_ns;		/* when it asked for the lock that it waits for; 0: it does not */
	u64 lock_address;
	u64 began_ns;		/* its activation; 0: none seen */
	u64 off_ns;		/* since when it is preempted; 0: it is not */
	u64 fault_ns;		/* since when a page fault of its user mode is handled; 0: none is */
	u64 lost_ns;		/* of this activation */
	u64 irq_ns;		/* what interrupts had taken of its CPU when it was woken */
	u64 call_ns;		/* when its system call began */
	u64 wait_ns;		/* since when it waits within its activation; 0: it does not */
	u64 from_ns;		/* when the last timer was due that it asked for in time */
	u64 end_ns;		/* of its last wakeup */
	u64 irqs;		/* that its CPU had begun then */
	u64 count[RECORDER_LOSSES];
	u64 sum_ns[RECORDER_LOSSES];
	u64 max_ns[RECORDER_LOSSES];
	s32 call;		/* the system call that it is in */
	s32 from_call;		/* the one that it slept in at from_ns */
	u32 timed;		/* its activation began with a timer */
	u32 by_timer;		/* who woke it last was a timer */
	u16 waited;		/* it has waited within its activation */
	u16 is_over;		/* its last wakeup: it has been in user mode since */
	u16 pending;		/* it was woken, and has not been in user mode since */
	u16 in_call;		/* enum recorder_call */
	u16 follow;		/* enum recorder_follow */
	u8 silent;		/* only its children are of interest */
	u8 ended;
	char name[RECORDER_NAME];	/* when it ended */
};

/* Where a watched thread is, as far as system calls were seen. */
enum recorder_call {
	RECORDER_USER_MODE,
	RECORDER_IN_CALL,
	RECORDER_NOT_SEEN,	/* none yet: taken for one that is in a call */
};

/* Whom a watched thread makes watched by creating it. */
enum recorder_follow {
	RECORDER_ALONE,
	RECORDER_THREADS,	/* of its process */
	RECORDER_CHILDREN,	/* those, and processes */
};

/* Only to give the keeper the names of all enumerators. */
struct recorder_names {
	enum recorder_kind kind;
	enum recorder_vector vector;
	enum recorder_switch_flags flags;
	enum recorder_switch_parts parts;
	enum recorder_timer_flags timer;
	enum recorder_reclaim reclaim;
	enum recorder_loss loss;
	enum recorder_follow follow;
	enum recorder_call call;
};

/* One CPU, written by that CPU only. */
struct recorder_cpu {
	u64 events;		/* written so far */
	u64 last_switch;	/* the number of the last RECORDER_SWITCH among them, from 0 on */
	u64 marks;
	u64 stacks;
	u64 timer[2];		/* that is being handled: in interrupts, in softirqs */
	u64 timer_due_ns[2];
	u64 missed;		/* begins and ends of watched threads' system calls and page faults */
	u64 irq_since_ns;	/* when the outermost interrupt or softirq began; 0: none */
	u64 irq_ns;		/* what those took that are over */
	u64 timers_since_ns;	/* of the last one in which a timer's handler ran */
	u64 looked_since_ns;	/* of the last one that was looked where it came */
	u64 irqs;		/* outermost interrupts and softirqs that began */
	u64 scheduler_ns;	/* when the scheduler began; 0: it did not */
	u64 untraced;		/* wakeups of watched threads that the kernel did not trace */
	u64 switched_ns;	/* when the last switch was; 0: none was seen */
	u64 backlog;		/* where packets of this machine itself wait; 0: not seen yet */
	char device[RECORDER_NAME];	/* that they came by; empty: by several, or not known */
	u32 running;		/* who has the CPU since then */
	u32 irq_depth;
	u32 watched;		/* the thread that has the CPU, if it is watched; else 0 */
} __attribute__((aligned(64)));

#endif /* ARTIS_RECORDER_H */
