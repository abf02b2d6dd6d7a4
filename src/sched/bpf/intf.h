/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that crosses the border between the BPF program and artis: the
 * counters and the per-CPU record. build.rs reads the counters' names and
 * meanings from this file, so each stands here and nowhere else.
 */
#ifndef ARTIS_INTF_H
#define ARTIS_INTF_H

/* CPUs a machine may have. Debian builds for 8192; 1024 keeps the records in 300 KiB. */
#ifndef ARTIS_CPUS_MAX
#define ARTIS_CPUS_MAX 1024
#endif

/*
 * Last-level caches that have queues of their own; a power of two. The loader takes larger
 * groups of CPUs on a machine with more.
 */
#define ARTIS_LLCS_MAX 32

/* Places for the levels of RT1+ tasks, which begin with 1; a power of two. */
#define ARTIS_RT1_LEVELS 64

/* CPU cgroups known at a time; a power of two. The first place is the root's. */
#define ARTIS_GROUPS_MAX 4096

/* One line a counter: COUNTER(name, what it counts). All are sums over CPUs. */
#define ARTIS_COUNTERS(COUNTER)                                                                    \
	COUNTER(entries_syscall, "system calls that began on an RT CPU")                           \
	COUNTER(entries_fault, "page faults that began on an RT CPU")                              \
	COUNTER(entries_signal, "signal deliveries that began on an RT CPU")                       \
	COUNTER(entries_tracer, "stops for a tracer that began on an RT CPU")                      \
	COUNTER(entries_bound, "kernel entries of tasks that may run on RT CPUs only")             \
	COUNTER(evictions_syscall, "tasks sent to an NRT CPU because of a system call")            \
	COUNTER(evictions_fault, "tasks sent to an NRT CPU because of a page fault")               \
	COUNTER(evictions_signal, "tasks sent to an NRT CPU because of a signal")                  \
	COUNTER(evictions_tracer, "tasks sent to an NRT CPU because of a stop for a tracer")       \
	COUNTER(evictions_affinity, "tasks sent to an NRT CPU because their affinity changed")     \
	COUNTER(evictions_unknown, "tasks sent to an NRT CPU because they might be in the kernel") \
	COUNTER(leaks_syscall, "system calls whose body ran on an RT CPU all the same")            \
	COUNTER(leaks_fault, "page faults that were handled on an RT CPU all the same")            \
	COUNTER(leaks_signal, "signals that were delivered on an RT CPU all the same")             \
	COUNTER(leaks_sleep, "tasks that went to sleep on an RT CPU, which takes a kernel to do")  \
	COUNTER(promotions, "tasks queued for an RT CPU")                                          \
	COUNTER(promotions_refused, "promotions refused: the task would soon have been back")      \
	COUNTER(displacements, "times RT0 took an RT CPU from a task")                             \
	COUNTER(hand_backs, "tasks that a long RT0 burst kept waiting, and that went elsewhere")   \
	COUNTER(others_turns, "slices given to other tasks although RT1+ tasks waited")            \
	COUNTER(rt_only_tasks, "times a task was queued whose affinity holds RT CPUs only")        \
	COUNTER(far, "times a task began to run at another cache, or part of one, than before")    \
	COUNTER(relieved, "times a task was taken from another cache, because it waited too long") \
	COUNTER(limit_stops, "times a task was stopped because its CPU cgroup had used its time")  \
	COUNTER(cpu_offline, "times an RT CPU went offline")                                       \
	COUNTER(cpu_online, "times an RT CPU came online")

#define ARTIS_COUNTER_ENUM(name, meaning) ARTIS_##name,
enum artis_counter { ARTIS_COUNTERS(ARTIS_COUNTER_ENUM) ARTIS_COUNTER_MAX };
#undef ARTIS_COUNTER_ENUM

/*
 * One CPU. Written by its own CPU only, but for what says otherwise; aligned
 * so that two CPUs never share a cache line.
 */
struct artis_cpu {
	u64 count[ARTIS_COUNTER_MAX];
	u64 ran_ns[ARTIS_CLASSES];	/* time on this CPU, by enum artis_class */
	u64 linux_wait_ns_max;	/* longest wait in a queue of a Linux task that then ran here */
	u64 leave_ns_max;	/* longest from a kernel entry to leaving, if RT0 did not come between */
	u64 displaced_ns;	/* since when RT0 keeps a task from this CPU; 0: no tick saw it do so */
	u64 marked_ns;		/* since when a task must leave */
	u64 switch_began_ns;	/* of the switch that goes on, monotonic clock; 0: none does */
	u64 switch_ns;		/* what a switch may take here: artis_switch_note() */
	u64 ticked_ns;		/* when the last tick came */
	u64 ticked_jiffies;	/* ... by the kernel's count of ticks */
	u64 tick_ns;		/* how far ticks are apart */
	u64 looked_ns;		/* when it last looked for tasks of other caches */
	u64 served;		/* where in virtual time it serves: artis_served_here() */
	u64 slid;		/* by how much in all that was moved: artis_served_slide() */
	u64 pinned_place;	/* of its queues, see queues.h; by any CPU */
	u64 pinned_rt1_place;
	u64 kthread_place;
	u64 waiting_looked_ns;	/* when it last looked how many Linux tasks wait for it */
	u64 slice_ends_ns;	/* of the task that runs, by a timer; 0: at a tick */
	u64 rt1_had;		/* of the RT1+ task that runs, when it began */
	u32 rt1_level;		/* ... and its level */
	struct artis_turn turn;
	struct artis_running running;	/* the task of ours that runs here, or ran last */
	u32 hosted_class;	/* of the task that runs, or that RT0 displaces: enum artis_class */
	u32 stay;		/* of the same task, on an RT CPU: enum artis_stay */
	u32 calls;		/* the running task's kernel entries that are not charged yet */
	u32 marked_pid;		/* the task that must leave, and why */
	u32 marked_state;	/* enum artis_state */
	u32 helper_state;	/* passed from a kprobe to the program that may act on it */
	u32 late_pid;		/* artis hands this task back: see hands_back_late() */
	u32 beset_ticks;	/* ticks in a row that found a real-time task, and none of ours ran */
	u32 idles;		/* an NRT CPU: it found no task when it looked last; by any CPU */
	u8 llc;			/* configuration: its last-level cache, a place in llcs[] */
	u8 rt;			/* configuration: is it an RT CPU? */
	u8 rt_immed;		/* configuration: no tick here, never let a task wait behind RT0 */
	u8 makes_room;		/* its task was asked to, by any CPU, and has not gone yet */
	u8 chosen;		/* ops.dispatch() has chosen its next task: none waits in front of it */
	u8 slice_timer_on;	/* it is set, for this task or an earlier one */
	u8 next_waits;		/* one that comes next waits until its task has run for a moment */
	u8 bound_waits;		/* a real-time task's last tick found one that may run here only */
	u8 offline;		/* by the hotplug path */
	u8 asked;		/* its task will be asked to leave by the next interrupt of perf */
	u8 unwatched;		/* an RT CPU that came back: nobody sees its system calls yet */
} __attribute__((aligned(64)));

/* A last-level cache, or what counts as one. Written by the loader before load. */
struct artis_llc {
	u32 first;		/* its CPUs are in llc_cpus[] from here ... */
	u32 end;		/* ... to before this */
	u32 rt_first;		/* its RT CPUs, or the next cache's, are in rt_list[] from here */
	u8 near[ARTIS_LLCS_MAX];	/* all caches, itself first, the farthest last */
};

/* How the scheduler ended: the kernel's account of it. */
struct artis_exit {
	s32 kind;		/* enum scx_exit_kind; 0: still on */
	s64 code;
	char reason[128];
	char message[1024];
};

#endif /* ARTIS_INTF_H */
