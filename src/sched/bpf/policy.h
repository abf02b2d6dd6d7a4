/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy of ARTiS: every rule and every number, as pure functions.
 *
 * The BPF program measures, calls this file and obeys. The same text is compiled
 * for unit tests and for everybody else who must decide as the scheduler does. So
 * nothing here reads the machine. A measurement that is expensive is asked for in
 * a second call, and only when the first answer says that it matters.
 *
 * The rule that everything here serves: RT1+ and Linux tasks run on an RT CPU
 * only in user mode, because only there can RT0 preempt them at once.
 *
 *  1. numbers                         7. who makes room, and which CPU is woken
 *  2. who is who                      8. who is next on a CPU
 *  3. what is known of a task         9. RT0's timer and switches of tasks
 *  4. virtual time and levels        10. entering the kernel on an RT CPU
 *  5. who goes to an RT CPU          11. long bursts of RT0, and CPUs that go
 *  6. where a runnable task goes     12. weights of CPU cgroups
 *                                    13. last-level caches
 *                                    14. limits of CPU cgroups
 *
 * Theory: Piel, Marquet, Soula, Dekeyser, "Real-Time Systems for
 * Multi-Processor Architectures", section 2.
 */
#ifndef ARTIS_POLICY_H
#define ARTIS_POLICY_H

/* The BPF program has these types from kernel.h. */
#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#endif

/* ---- 1. Numbers ---- */

#define ARTIS_NSEC_PER_USEC 1000ULL
#define ARTIS_NSEC_PER_MSEC 1000000ULL
#define ARTIS_NSEC_PER_SEC 1000000000ULL

/*
 * Slice of a task on an NRT CPU. It ends at a tick: with HZ=250, where ticks are 4 ms apart,
 * at the nearest one; with HZ=1000 at the second one. While more tasks wait than the next
 * number says it ends by a timer.
 */
#define ARTIS_SLICE_NRT_NS (1500 * ARTIS_NSEC_PER_USEC)

/*
 * So many Linux tasks may wait for each NRT CPU while slices end at ticks, which is cheaper: with
 * HZ=250 all of them have had a turn within 50 ms, as on an RT CPU. With 3 in its place, slices
 * would end by the timer beside the loads of Table 1, too: those do up to 5 % less, some 10 %.
 */
#define ARTIS_WAITING_AT_TICKS 12

/*
 * The least time between two looks of an NRT CPU how many wait. It may switch every 30 us, and
 * slices are longer.
 */
#define ARTIS_WAITING_LOOK_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * Slice of a task on an RT CPU. Longer, because each switch there may delay RT0,
 * yet short enough that four waiting tasks each run within 50 ms.
 */
#define ARTIS_SLICE_RT_NS (8 * ARTIS_NSEC_PER_MSEC)

/*
 * How long behind the second tick of a grace period RCU's thread goes on: RT CPUs have reported by
 * then. RT0's wakeup may come first, as long as a switch. And when it goes on in any case,
 * if its timer was lost.
 */
#define ARTIS_HELD_NS (250 * ARTIS_NSEC_PER_USEC)
#define ARTIS_HELD_NS_MAX (50 * ARTIS_NSEC_PER_MSEC)

/* A slice that time does not shorten: the kernel's SCX_SLICE_INF. */
#define ARTIS_SLICE_ENDLESS_NS (~0ULL)

/* Real-time tasks keep a CPU for so long that somebody has to look after the others. */
#define ARTIS_BESET_NS (250 * ARTIS_NSEC_PER_MSEC)
/* ... and no deadline server has served them, which have a period of a second. */
#define ARTIS_UNSERVED_NS (2 * ARTIS_NSEC_PER_SEC)

/* The longest time between two ticks that is one, and not a tick that did not come: HZ=100. */
#define ARTIS_TICK_NS_MAX (11 * ARTIS_NSEC_PER_MSEC)

/*
 * A switch of tasks on an RT CPU keeps interrupts off, and so delays RT0's timer.
 * None begins when a timer is due before the switch would be done; how long that
 * takes is measured, see artis_switch_note(). This is the longest time that counts:
 * what takes longer is no switch, but a hypervisor that stopped the CPU.
 */
#define ARTIS_SWITCH_NS_MAX (250 * ARTIS_NSEC_PER_USEC)

/*
 * A timer's interrupt is there by so long after it was due, where the CPU compares its clock with
 * that moment: the kernel rounds by some ns, and the CPU takes some to see it.
 */
#define ARTIS_TIMER_COMES_NS 200ULL

/*
 * Length of a kernel thread's turn on an RT CPU, with the switches before and after
 * it. No turn begins when a timer is due before its end. At 100 million instructions
 * a second the kernel's own work items take 160 us.
 */
#define ARTIS_KTHREAD_TURN_NS (300 * ARTIS_NSEC_PER_USEC)

/* RT1+ levels: 1 is the highest, 40 the lowest (nice -20 to 19). */
#define ARTIS_RT1_LEVEL_MAX 40

/*
 * What one level is worth in waiting time. The lowest level waits 2 s at most behind
 * the highest, far below the 30 s after which the kernel's watchdog ends the
 * scheduler. And one level is several slices, so it decides between tasks that wait
 * at the same time.
 */
#define ARTIS_RT1_LEVEL_NS (50 * ARTIS_NSEC_PER_MSEC)

/*
 * How much CPU time of its own a task may be behind the mean of its side, or ahead of it.
 * A task that waited long does not keep the CPU for as long. A task that ran too long, because it
 * could not be stopped or a hypervisor stopped its CPU, pays that back, but not for seconds.
 */
#define ARTIS_CREDIT_NS (4 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_DEBT_NS (12 * ARTIS_NSEC_PER_MSEC)

/*
 * How much of its own CPU time ahead of the mean a task may be that comes next because an
 * interrupt woke it up. What it uses then it pays back, so this is a loan, and no share.
 */
#define ARTIS_AHEAD_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * How long the lightest task waits for the mean to reach it, with one CPU for all, and as
 * long again for its deadline: far below the 30 s of the kernel's watchdog.
 */
#define ARTIS_WAIT_NS (5 * ARTIS_NSEC_PER_SEC)

/* The least that a task is taken to ask for: among tasks of short bursts the first comes first. */
#define ARTIS_REQUEST_NS_MIN (100 * ARTIS_NSEC_PER_USEC)

/*
 * Tasks that may have taken over a CPU, one from the other, and not run yet: so many when one more
 * does by its deadline, and when an interrupt woke it up. Interrupts come in groups.
 */
#define ARTIS_IN_FRONT_MAX 2
#define ARTIS_IN_FRONT_NEXT_MAX 6

/* Tasks up to which one more follows in front, where no other CPU takes it. */
#define ARTIS_IN_FRONT_ALONE_MAX 4

/* What a new task is taken to ask for: less than a slice, so that short commands are short. */
#define ARTIS_REQUEST_NS_NEW (1 * ARTIS_NSEC_PER_MSEC)

/* A new burst counts 1/2^2 in the running mean of a task's bursts. */
#define ARTIS_REQUEST_SHIFT 2

/*
 * How long a task runs at least before one that wakes up takes its CPU. Who sends
 * messages wakes up a task with each, and is not to be displaced each time. An
 * interrupt wakes up tasks for the world outside, so it waits for less.
 */
#define ARTIS_PROTECT_NS (1 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_PROTECT_INTERRUPT_NS (100 * ARTIS_NSEC_PER_USEC)

/*
 * What one migration costs a task: two context switches, an inter-processor
 * interrupt and the refill of a warm working set. Some tens of microseconds on
 * today's machines; 100 keeps a margin for large working sets.
 */
#define ARTIS_MIGRATION_NS (100 * ARTIS_NSEC_PER_USEC)

/*
 * A new interval between kernel entries counts 1/2^2 in the running mean: four
 * calls are enough to notice that a task changed from calling to computing.
 */
#define ARTIS_INTERVAL_SHIFT 2

/*
 * After a stay on an RT CPU that did not pay, the task is not sent there for a while,
 * and for twice as long after each further one. A task that has stopped calling is
 * noticed late by the longest pause at most; RT1+ tasks are noticed sooner. With the
 * longest pause, useless moves cost a task 1/2500 of its time.
 */
#define ARTIS_PAUSE_NS_MIN (8 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_PAUSE_NS_MAX (512 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_PAUSE_RT1_NS_MAX (64 * ARTIS_NSEC_PER_MSEC)

/*
 * When RT0 has had the CPU for so long, the task it displaced is handed back, so
 * that another CPU may run it. In shorter bursts it is cheaper to wait than to move
 * twice. And so the hand-back is never part of RT0's wakeup.
 */
#define ARTIS_HAND_BACK_NS (2 * ARTIS_NSEC_PER_MSEC)

/*
 * A task that waited this long for an RT CPU may be taken by an NRT CPU:
 * about two full slices of an RT CPU that RT0 leaves alone. A light one waits for
 * longer by its weight, because its share is smaller, up to the second number.
 */
#define ARTIS_RT_WAIT_MAX_NS (20 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_RT_WAIT_LIGHT_MAX_NS (200 * ARTIS_NSEC_PER_MSEC)

/*
 * The least time between two looks of an NRT CPU for such a task. It may switch every
 * 30 us, and a look costs a hundredth of that.
 */
#define ARTIS_RT_WAIT_LOOK_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * The least time between two looks of an NRT CPU into shared queues in which no task was
 * queued, as far as is known. Nobody waits there, unless a CPU stood still for a while as
 * it queued a task. Each look makes a switch longer, and others wait for its run queue.
 */
#define ARTIS_EMPTY_LOOK_NS (10 * ARTIS_NSEC_PER_MSEC)

/* How much longer after it took one: with HZ=250 every second turn is the others'. */
#define ARTIS_RT_WAIT_PAUSE_NS (6 * ARTIS_NSEC_PER_MSEC)

/* Longer than it takes the kernel to insert a task after ops.enqueue(). */
#define ARTIS_INSERTION_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * Tasks that may wait for each RT CPU. One bridges the time from an eviction
 * to the next promotion, which takes up to a tick; the others only wait.
 */
#define ARTIS_RT_QUEUE_MAX 4

/*
 * RT1+ tasks come first, but on each CPU everybody else gets 5 ms after 95 ms of
 * them, if they wait. The kernel bounds its real-time classes to 95 % for the
 * same reason: a real-time task in an endless loop must not take the machine
 * down.
 */
#define ARTIS_RT1_PHASE_NS (95 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_OTHERS_PHASE_NS (5 * ARTIS_NSEC_PER_MSEC)

/*
 * The weight of nice 0, and PELT's number for "all of a CPU". Weights are sched_ext's, on
 * which nice 0 and a cgroup that nobody gave another one have 100, times a scale: the
 * tasks of a cgroup divide its weight among them.
 */
#define ARTIS_WEIGHT_SCALE 16
#define ARTIS_WEIGHT_NICE_0 (100 * ARTIS_WEIGHT_SCALE)
#define ARTIS_CAPACITY 1024

/*
 * What counts as left of a CPU that RT tasks take completely. It bounds the division.
 * With 1/32 left nobody chooses that CPU anyway.
 */
#define ARTIS_CAPACITY_LEFT_MIN (ARTIS_CAPACITY / 32)

/*
 * How many tasks of a queue are passed over at most, and for how long, because RT0
 * needs the run queue of the RT CPU where they were. RT0's wakeup takes less than
 * that, and nobody should wait behind a long burst of RT0.
 */
#define ARTIS_PASSED_OVER_MAX 4
#define ARTIS_PASSED_OVER_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * The same as ARTIS_CREDIT_NS and ARTIS_DEBT_NS where cgroups have weights. Somewhat more
 * than a slice behind: who cannot use its share does not come first for longer. Several
 * slices ahead, because one that is forgotten is a gift to the lightest tasks, and a
 * hypervisor may make each ten times as long.
 */
#define ARTIS_SHARE_CREDIT_NS (24 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_SHARE_DEBT_NS (96 * ARTIS_NSEC_PER_MSEC)

/* The mean distance of those that NRT CPUs serve is one of so many: 2 to the power of this. */
#define ARTIS_BEHIND_SHIFT 6

/*
 * How much more of its own CPU time a task of another last-level cache must be owed than
 * those of a CPU's own, so that the CPU takes it from there. Several slices, because tasks
 * that take turns differ by one all the time, and a hypervisor may make each longer; less
 * than ARTIS_SHARE_CREDIT_NS, after which what it is owed is forgotten.
 */
#define ARTIS_FAR_NS (8 * ARTIS_SLICE_NRT_NS)

/*
 * A cache of more CPUs is divided into parts, and each counts as a cache of its own. Of n CPUs
 * that take from one queue, n - 1 of n take a task that was on another CPU, and to move a task is
 * dear. But all parts are looked at before a CPU is idle, so there are not too many of them.
 */
#define ARTIS_PART_CPUS 2
#define ARTIS_PARTS_MAX 16

/* How deep the tree of cgroups is looked at; one further down counts as if it were there. */
#define ARTIS_GROUP_DEPTH_MAX 32

/* The whole of what a cgroup divides among those below, as a fixed-point number. */
#define ARTIS_GROUP_WHOLE (1ULL << 30)

/*
 * Over how long the mean weight of what competes in a cgroup is taken: several slices, and
 * less than anybody notices.
 */
#define ARTIS_GROUP_MEAN_NS (64 * ARTIS_NSEC_PER_MSEC)

/* How old a flattened weight may be: it depends on means, which move by this much of that. */
#define ARTIS_GROUP_FLAT_NS (4 * ARTIS_NSEC_PER_MSEC)

/*
 * How long a debt of a cgroup with a limit takes to pay back at most. The rest of it is
 * forgotten: it comes of limits far below what the CPUs use between two ticks.
 */
#define ARTIS_LIMIT_DEBT_NS (10 * ARTIS_NSEC_PER_SEC)

/*
 * The longest that a task is stopped at a time. With the longest wait for a CPU after that
 * it is still below the 30 s of the kernel's watchdog. Then it runs to the next tick,
 * whatever its cgroup has left.
 */
#define ARTIS_LIMIT_STOP_NS (10 * ARTIS_NSEC_PER_SEC)

/* What a task uses before a tick can stop it again: who is let on is taken to need it. */
#define ARTIS_LIMIT_TURN_NS (4 * ARTIS_NSEC_PER_MSEC)

/* How often artis looks for tasks that may go on: while some are stopped, and else. */
#define ARTIS_LIMIT_LOOK_STOPPED_NS (4 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_LIMIT_LOOK_NS (20 * ARTIS_NSEC_PER_MSEC)

/* After so long without a look artis is taken to be stopped itself: limits do not hold. */
#define ARTIS_LIMIT_NEGLECTED_NS (3 * ARTIS_NSEC_PER_SEC)

/* A limit of more CPUs than any machine has is none; so no product here overflows. */
#define ARTIS_LIMIT_CPUS 1024

/* ---- 2. Who is who ---- */

/* Policies of the kernel that mean something here: include/uapi/linux/sched.h. */
enum artis_kernel_policy {
	ARTIS_POLICY_FIFO = 1,
	ARTIS_POLICY_RR = 2,
	ARTIS_POLICY_DEADLINE = 6,
	ARTIS_POLICY_EXT = 7,	/* how a task asks to be RT1+ */
};

/* What a task is to the scheduler. RT0 tasks are in a class above it, and it never sees them. */
enum artis_class {
	ARTIS_CLASS_LINUX,
	ARTIS_CLASS_RT1,
	ARTIS_CLASS_KTHREAD,
	ARTIS_CLASS_NONE,	/* on a CPU: no task of the scheduler */
	ARTIS_CLASSES = ARTIS_CLASS_NONE,
};

/* Where the affinity of a task lets it run. */
enum artis_affinity {
	ARTIS_AFFINITY_ANY,	/* on RT and NRT CPUs */
	ARTIS_AFFINITY_ONE,	/* on one CPU */
	ARTIS_AFFINITY_RT,	/* on several, all RT */
	ARTIS_AFFINITY_NRT,	/* on several, none RT */
};

/* A task of the classes above ours: RT0 on an RT CPU, free to do what it likes. */
static inline bool artis_is_rt0(u32 policy)
{
	return policy == ARTIS_POLICY_FIFO || policy == ARTIS_POLICY_RR ||
	       policy == ARTIS_POLICY_DEADLINE;
}

/* The kernel's other normal policies are Linux tasks. */
static inline enum artis_class artis_classify(u32 policy, bool kthread)
{
	if (kthread)
		return ARTIS_CLASS_KTHREAD;
	return policy == ARTIS_POLICY_EXT ? ARTIS_CLASS_RT1 : ARTIS_CLASS_LINUX;
}

static inline bool artis_is_ours(enum artis_class class)
{
	return class != ARTIS_CLASS_NONE;
}

static inline bool artis_is_rt1(enum artis_class class)
{
	return class == ARTIS_CLASS_RT1;
}

/* Is the time that tasks of this class wait for a CPU recorded? */
static inline bool artis_wait_is_noted(enum artis_class class)
{
	return class == ARTIS_CLASS_LINUX;
}

/* @cpus: how many CPUs the task may use; @nrt, @rt: whether such ones are among them. */
static inline enum artis_affinity artis_affinity(u32 cpus, bool nrt, bool rt)
{
	if (cpus == 1)
		return ARTIS_AFFINITY_ONE;
	if (!nrt)
		return ARTIS_AFFINITY_RT;
	return rt ? ARTIS_AFFINITY_ANY : ARTIS_AFFINITY_NRT;
}

/* ---- 3. What is known of a task ---- */

/*
 * The state of a task: where it belongs, and why. Nobody is in user mode for
 * certain but who is found there by a tick; from then on each entry into the
 * kernel is seen, as long as the task is on RT CPUs.
 *
 *   state      meaning                            leaves it
 *   NRT        may be in the kernel, so it        to PROMOTED: tick of an NRT CPU
 *              belongs on NRT CPUs                to LEAVES_UNKNOWN: tick of an RT CPU
 *   PROMOTED   in user mode on an NRT CPU, and    to RT: queued for the RT CPUs
 *              wanted on an RT CPU                to NRT: ran on before that
 *   STOPPED    found in user mode by a tick when  to NRT: runs again
 *              its cgroup had used up its time:
 *              waits for more, or for a CPU
 *   RT         in user mode; queued for the RT    to LEAVES_*: an entry into the kernel
 *              CPUs, or on one                    to NRT: queued for the NRT CPUs
 *   LEAVES_*   on an RT CPU and in the kernel     to NRT: queued for the NRT CPUs
 *              for the reason named: it must go   to RT: seen to return to user mode
 *
 * Everywhere: running on an NRT CPU makes it NRT. A task that is set free from an
 * RT CPU becomes LEAVES_AFFINITY, since what it did there was its right; what it
 * still does of that is no leak. While a task is bound, its state means nothing.
 *
 * Apart from the state, because each changes for its own reasons: the affinity;
 * the side on which its virtual time counts; whether it is on a CPU for the
 * account (it runs, or RT0 displaced it and it goes on afterwards).
 */
enum artis_state {
	ARTIS_STATE_NRT,
	ARTIS_STATE_PROMOTED,
	ARTIS_STATE_STOPPED,
	ARTIS_STATE_RT,
	ARTIS_STATE_LEAVES_SYSCALL,
	ARTIS_STATE_LEAVES_FAULT,
	ARTIS_STATE_LEAVES_SIGNAL,
	ARTIS_STATE_LEAVES_TRACER,
	ARTIS_STATE_LEAVES_AFFINITY,
	ARTIS_STATE_LEAVES_UNKNOWN,
};

/* What a rule may ask of a task. */
struct artis_task_view {
	enum artis_class class;
	enum artis_affinity affinity;
	enum artis_state state;
	bool fixed;		/* it may not change CPU now: the kernel disabled its migration */
	bool wakes;		/* it becomes runnable because it wakes up */
	bool handed_back;	/* ... because a long burst of RT0 displaces it */
	bool immed;		/* ... if so, at once: this is on RT0's way */
	u32 weight;		/* with which it counts: artis_weight() */
};

/* Is it allowed on the CPUs it has, whatever it does there? Its affinity leaves no choice. */
static inline bool artis_is_bound(enum artis_affinity affinity)
{
	return affinity == ARTIS_AFFINITY_ONE || affinity == ARTIS_AFFINITY_RT;
}

static inline bool artis_is_leaving(enum artis_state state)
{
	return state >= ARTIS_STATE_LEAVES_SYSCALL;
}

/* Did a task that leaves for this reason enter the kernel? */
static inline bool artis_is_entry(enum artis_state state)
{
	return artis_is_leaving(state) && state <= ARTIS_STATE_LEAVES_TRACER;
}

/* Did the task begin a system call on an RT CPU? */
static inline bool artis_is_in_syscall(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_SYSCALL;
}

/* Is the task, on an RT CPU, in the kernel or about to be? Then it must not go on there. */
static inline bool artis_must_leave(const struct artis_task_view *task)
{
	return !artis_is_bound(task->affinity) && !task->fixed && task->state != ARTIS_STATE_RT;
}

/* It begins to run, or goes on after RT0. */
static inline enum artis_state artis_state_running(enum artis_state state, bool rt_cpu)
{
	if (state == ARTIS_STATE_PROMOTED || state == ARTIS_STATE_STOPPED)
		return ARTIS_STATE_NRT;
	return rt_cpu ? state : ARTIS_STATE_NRT;
}

/* A tick of its RT CPU: it was here before us or came around us, so nobody knows where it is. */
static inline enum artis_state artis_state_tick_rt(const struct artis_task_view *task)
{
	if (artis_must_leave(task) && !artis_is_leaving(task->state))
		return ARTIS_STATE_LEAVES_UNKNOWN;
	return task->state;
}

/* It returns to user mode on its RT CPU after a system call that it made there. */
static inline enum artis_state artis_state_returned(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_SYSCALL ? ARTIS_STATE_RT : state;
}

/*
 * Its affinity changes from @before to @after. On an RT CPU a task that was bound
 * may be in the kernel; set free, it must not be taken for one in user mode.
 */
static inline enum artis_state artis_state_affinity(enum artis_state state, bool rt_cpu,
						    enum artis_affinity before,
						    enum artis_affinity after)
{
	if (artis_is_bound(after))
		return artis_is_leaving(state) || (rt_cpu && artis_is_bound(before)) ?
			       ARTIS_STATE_NRT :
			       state;
	return rt_cpu && artis_is_bound(before) ? ARTIS_STATE_LEAVES_AFFINITY : state;
}

/* Is it to leave at once because its affinity changed while it runs? */
static inline bool artis_affinity_evicts(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_AFFINITY;
}

/* ---- 4. Virtual time and levels ---- */

static inline u64 artis_slice_ns(bool rt_side)
{
	return rt_side ? ARTIS_SLICE_RT_NS : ARTIS_SLICE_NRT_NS;
}

/* @static_prio: 100 (nice -20) to 139 (nice 19). Returns the RT1+ level, 1 to 40. */
static inline u32 artis_rt1_level(u32 static_prio)
{
	if (static_prio < 100)
		return 1;
	if (static_prio > 139)
		return ARTIS_RT1_LEVEL_MAX;
	return static_prio - 100 + 1;
}

/*
 * Place in the RT1+ queue: when it became runnable, plus so much for each level
 * below the first. A higher level comes first unless the lower one has waited
 * that much longer. Without this a busy high level would keep a low one from
 * running for ever, and the kernel's watchdog would end the scheduler for it.
 */
static inline u64 artis_rt1_key(u32 level, u64 now_ns)
{
	return now_ns + (u64)(level - 1) * ARTIS_RT1_LEVEL_NS;
}

/*
 * A task was queued, and no look since has found it: does that say that the queue is
 * empty? Only what takes no time in between is known to be in order.
 */
static inline bool artis_is_inserted(u64 now_ns, u64 queued_ns)
{
	return (s64)(now_ns - queued_ns) >= (s64)ARTIS_INSERTION_NS;
}

/* Virtual time may wrap around: compare two values by their distance. */
static inline bool artis_vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline u64 artis_vtime_later(u64 a, u64 b)
{
	return artis_vtime_before(a, b) ? b : a;
}

/* The weight of a task in all that concerns shares. @weight: sched_ext's, 100 is nice 0. */
static inline u32 artis_weight(u32 weight)
{
	return weight ? weight * ARTIS_WEIGHT_SCALE : ARTIS_WEIGHT_SCALE;
}

/* The weight with which a task is charged: with which it counts, or else would count. */
static inline u32 artis_weight_charged(u32 pooled, u32 weight)
{
	return pooled ? pooled : artis_weight(weight);
}

/*
 * Virtual time for @ran_ns at @weight, see artis_weight(). Most tasks have nice 0, and each wakeup
 * asks a few times: no division then.
 */
static inline u64 artis_vtime_charge(u64 ran_ns, u32 weight)
{
	if (weight == ARTIS_WEIGHT_NICE_0)
		return ran_ns;
	return ran_ns * ARTIS_WEIGHT_NICE_0 / (weight ? weight : 1);
}

/*
 * The runnable tasks of a side. Their mean virtual time, by weight, is where a task
 * stands that got just its share: who is behind it is owed time, who is ahead got too
 * much. (Stoica, Abdel-Wahab: "Earliest Eligible Virtual Deadline First", 1995.)
 */
struct artis_pool {
	u64 base;		/* near the mean */
	s64 sum;		/* of weight times virtual time, which counts from base */
	u64 weight;		/* sum of all */
};

/* The mean counts from its base: division of a signed number. */
static inline s64 artis_pool_mean(const struct artis_pool *pool)
{
	if (!pool->weight)
		return 0;
	return pool->sum < 0 ? -(s64)((u64)-pool->sum / pool->weight) :
			       (s64)((u64)pool->sum / pool->weight);
}

static inline u64 artis_pool_vtime(const struct artis_pool *pool)
{
	return pool->base + artis_pool_mean(pool);
}

/* Keeps the sum small: the base follows the mean, at the latest every second. */
static inline void artis_pool_rebase(struct artis_pool *pool)
{
	u64 size = pool->sum < 0 ? -pool->sum : pool->sum;
	s64 mean;

	if (size < pool->weight * ARTIS_NSEC_PER_SEC)
		return;
	mean = artis_pool_mean(pool);
	pool->base += mean;
	pool->sum -= mean * (s64)pool->weight;
}

static inline void artis_pool_join(struct artis_pool *pool, u64 vtime, u32 weight)
{
	pool->sum += (s64)(vtime - pool->base) * (s64)weight;
	pool->weight += weight;
	artis_pool_rebase(pool);
}

/* The last one leaves its virtual time behind. */
static inline void artis_pool_leave(struct artis_pool *pool, u64 vtime, u32 weight)
{
	pool->weight -= weight;
	if (pool->weight) {
		pool->sum -= (s64)(vtime - pool->base) * (s64)weight;
		return;
	}
	pool->base = vtime;
	pool->sum = 0;
}

/* A task of @weight in the pool has run, and its virtual time is @more ahead. */
static inline void artis_pool_charge(struct artis_pool *pool, u64 more, u32 weight)
{
	pool->sum += (s64)(more * weight);
}

/* How a task comes to a pool. */
enum artis_arrival {
	ARTIS_ARRIVAL_AGAIN,	/* it is runnable all the time */
	ARTIS_ARRIVAL_BACK,	/* it slept, or was changed */
	ARTIS_ARRIVAL_MOVED,	/* it is runnable all the time, and comes from the other side */
	ARTIS_ARRIVAL_NEW,	/* it is new, or slept on the other side */
};

/* @pooled: it is in a pool already; @same_side: the last one was of the same side. */
static inline enum artis_arrival artis_arrival(bool pooled, bool same_side)
{
	if (!same_side)
		return pooled ? ARTIS_ARRIVAL_MOVED : ARTIS_ARRIVAL_NEW;
	return pooled ? ARTIS_ARRIVAL_AGAIN : ARTIS_ARRIVAL_BACK;
}

/*
 * Has a task that becomes runnable its place in virtual time already? Who @wakes is in no
 * pool, unless it was placed as the CPU of its waker was tried, a moment ago.
 */
static inline bool artis_is_placed(bool wakes, bool pooled, bool same_side)
{
	return wakes && pooled && same_side;
}

/* A task that joins a pool. */
struct artis_joining {
	u64 mean;		/* virtual time of the pool: artis_pool_arrive() */
	u64 all;		/* weight of all, the task included: the same */
	s64 behind;		/* where tasks share by their CPU cgroups: artis_behind() */
	u64 group_vtime;	/* where its cgroup stands: artis_group_vtime() */
	bool grouped;		/* ... if it is in one */
	bool shared;		/* tasks share by their CPU cgroups, see 12 */
	bool spread;		/* each last-level cache has a queue, see 13 */
	u32 weight;		/* the task's */
};

/*
 * How far @own_ns of a task's own CPU time is in virtual time: no further than the others
 * get in ARTIS_WAIT_NS.
 */
static inline u64 artis_distance(u64 own_ns, u32 weight, u64 all)
{
	if (own_ns * all <= ARTIS_WAIT_NS * weight)
		return artis_vtime_charge(own_ns, weight);
	return ARTIS_WAIT_NS * ARTIS_WEIGHT_NICE_0 / all;
}

/* How much of its own CPU time a task may be behind the mean, and ahead of it. */
static inline u64 artis_credit_ns(enum artis_arrival arrival, bool shared, bool spread)
{
	return (shared || spread) && arrival == ARTIS_ARRIVAL_AGAIN ? ARTIS_SHARE_CREDIT_NS :
								      ARTIS_CREDIT_NS;
}

static inline u64 artis_debt_ns(bool shared)
{
	return shared ? ARTIS_SHARE_DEBT_NS : ARTIS_DEBT_NS;
}

/*
 * How far behind the mean those are that NRT CPUs serve, a mean of the last ones: one more, at
 * @vtime, begins. @mean: that of all, a moment ago.
 */
static inline s64 artis_behind(s64 behind, u64 mean, u64 vtime)
{
	return behind + (((s64)(mean - vtime) - behind) >> ARTIS_BEHIND_SHIFT);
}

/*
 * What a task that arrives is compared with. Where tasks share by their cgroups the mean is that of
 * both sides. Those that only NRT CPUs can serve may be behind it for ever, by as much as they may
 * be; one that is new or slept would wait for all of them at the mean, so it stands where they do.
 */
static inline u64 artis_level(const struct artis_joining *at, enum artis_arrival arrival)
{
	u64 most;

	if (!at->shared || arrival == ARTIS_ARRIVAL_AGAIN || at->behind <= 0)
		return at->mean;
	most = artis_distance(ARTIS_SHARE_CREDIT_NS, at->weight, at->all);
	return at->mean - ((u64)at->behind < most ? (u64)at->behind : most);
}

/* How far ahead of the mean its cgroup is. */
static inline u64 artis_lead(const struct artis_joining *at)
{
	return at->grouped && artis_vtime_before(at->mean, at->group_vtime) ?
		       at->group_vtime - at->mean :
		       0;
}

/*
 * How far ahead of its level a task that arrives may be. Where tasks share by their cgroups, one
 * that slept keeps no more of what it had too much than where they do not, because its cgroup
 * remembers that. Else two that wake up each other, and had more than the others of their cgroup
 * for a while, would wait for many slices at each message.
 */
static inline u64 artis_debt(const struct artis_joining *at, enum artis_arrival arrival)
{
	u64 most = artis_distance(artis_debt_ns(at->shared), at->weight, at->all);
	u64 debt;

	if (!at->shared || arrival != ARTIS_ARRIVAL_BACK)
		return most;
	debt = artis_lead(at) + artis_distance(ARTIS_DEBT_NS, at->weight, at->all);
	return debt < most ? debt : most;
}

/*
 * Where a task that arrives stands in virtual time. @vtime: where it stood; @lag: how far
 * behind the mean that was when it left, negative: ahead. It keeps what it is owed, but not
 * on the other side: those who waited there would come in a row. What it got too much is
 * forgotten as the others pass it, and goes with it: a light task would else get more with
 * each move. A new one of a cgroup that is ahead begins as far ahead, or short commands would get
 * more than their share.
 */
static inline u64 artis_vtime_place(const struct artis_joining *at, enum artis_arrival arrival,
				    u64 vtime, s64 lag)
{
	u64 level = artis_level(at, arrival);
	u64 credit_ns = artis_credit_ns(arrival, at->shared, at->spread);
	u64 earliest = level - artis_distance(credit_ns, at->weight, at->all);
	u64 latest = level + artis_debt(at, arrival);

	switch (arrival) {
	case ARTIS_ARRIVAL_AGAIN:
		break;
	case ARTIS_ARRIVAL_BACK:
		vtime = artis_vtime_later(vtime, level);
		if (lag > 0 && artis_vtime_before(at->mean - lag, vtime))
			vtime = at->mean - lag;
		break;
	case ARTIS_ARRIVAL_MOVED:
		vtime = lag < 0 ? at->mean - lag : at->mean;
		break;
	case ARTIS_ARRIVAL_NEW:
		vtime = level + artis_lead(at);
		break;
	}
	if (artis_vtime_before(vtime, earliest))
		return earliest;
	if (artis_vtime_before(latest, vtime))
		return latest;
	return vtime;
}

/*
 * The task joins the pool. Returns its virtual time there, see artis_vtime_place(). The mean to
 * which a task is compared that is runnable all the time includes that task. Otherwise a heavy
 * task would be as far ahead of a light one as its debt may be, and stay before it for ever.
 */
static inline u64 artis_pool_arrive(struct artis_pool *pool, struct artis_joining *at,
				    enum artis_arrival arrival, u64 vtime, s64 lag)
{
	u64 placed;

	if (arrival == ARTIS_ARRIVAL_AGAIN) {
		artis_pool_join(pool, vtime, at->weight);
		at->mean = artis_pool_vtime(pool);
		at->all = pool->weight;
		placed = artis_vtime_place(at, arrival, vtime, lag);
		artis_pool_charge(pool, placed - vtime, at->weight);
		return placed;
	}
	at->mean = artis_pool_vtime(pool);
	at->all = pool->weight + at->weight;
	placed = artis_vtime_place(at, arrival, vtime, lag);
	artis_pool_join(pool, placed, at->weight);
	return placed;
}

/*
 * Has a task that became runnable not had much more than its share? Not exactly no more: who
 * always uses some of its share would be ahead of it whenever there are many others for a while.
 */
static inline bool artis_is_owed(u64 vtime, const struct artis_joining *at)
{
	return !artis_vtime_before(at->mean + artis_distance(ARTIS_AHEAD_NS, at->weight, at->all),
				   vtime);
}

/*
 * The mean of a task's bursts, from waking up to sleeping, with a new one of @burst_ns.
 * 0: it had none yet, so that the first one counts whole.
 */
static inline u64 artis_usual_burst(u64 usual_ns, u64 burst_ns)
{
	if (!usual_ns)
		return burst_ns ? burst_ns : 1;
	return usual_ns + ((s64)(burst_ns - usual_ns) >> ARTIS_REQUEST_SHIFT);
}

/*
 * What a task asks for at a time: its usual burst, or a slice if it is longer than that,
 * or if this burst, @ran_ns up to now, is.
 */
static inline u64 artis_request(u64 usual_ns, u64 ran_ns, bool rt_side)
{
	u64 slice_ns = artis_slice_ns(rt_side);

	if (!usual_ns)
		usual_ns = ARTIS_REQUEST_NS_NEW;
	if (ran_ns > usual_ns || usual_ns >= slice_ns)
		return slice_ns;
	return usual_ns < ARTIS_REQUEST_NS_MIN ? ARTIS_REQUEST_NS_MIN : usual_ns;
}

/*
 * The virtual deadline of a task: when it has had what it asks for, if it gets just its
 * share. The queues are ordered by it: a task that asks for little comes first, and gets
 * no more than its share by that. A task that has not yet had what it asked for keeps
 * its @deadline.
 */
static inline u64 artis_deadline(const struct artis_joining *at, enum artis_arrival arrival,
				 u64 deadline, u64 vtime, u64 request_ns)
{
	if (arrival == ARTIS_ARRIVAL_AGAIN && artis_vtime_before(vtime, deadline))
		return deadline;
	return vtime + artis_distance(request_ns, at->weight, at->all);
}

/* A Linux task that runs. */
struct artis_running {
	u64 deadline;
	u64 vtime;		/* when it began to run */
	u64 since_ns;
	u64 burst_ns;		/* it had run before that since it woke up */
	u32 weight;
};

/*
 * Does a task that an interrupt woke up come next, whoever waits? If it is not far ahead of its
 * share (@owed). What it uses is charged, so the others get theirs a little later.
 */
static inline bool artis_comes_next(bool interrupt, bool owed)
{
	return interrupt && owed;
}

/* How long a task has run in one piece. Clocks of two CPUs differ. */
static inline u64 artis_ran_ns(const struct artis_running *running, u64 now_ns)
{
	s64 ran_ns = now_ns - running->since_ns;

	return ran_ns < 0 ? 0 : ran_ns;
}

/*
 * Is the task that runs left alone, because it has just begun? Messages may come from it in a
 * row, so what counts for them is how long it has run in one piece. For an interrupt it
 * is how long it has since it woke up: others displace it for a moment all the time.
 */
static inline bool artis_is_protected(const struct artis_running *running, u64 now_ns,
				      bool interrupt)
{
	u64 ran_ns = artis_ran_ns(running, now_ns);

	return interrupt ? running->burst_ns + ran_ns < ARTIS_PROTECT_INTERRUPT_NS :
			   ran_ns < ARTIS_PROTECT_NS;
}

/*
 * Does a Linux task that waits, with @deadline, take the CPU of the one that runs? Who runs beyond
 * its deadline asks for a slice more.
 */
static inline bool artis_takes_over(u64 deadline, const struct artis_running *running, u64 now_ns,
				    bool interrupt)
{
	u64 vtime = running->vtime +
		    artis_vtime_charge(now_ns - running->since_ns, running->weight);
	u64 theirs = running->deadline;

	if (artis_is_protected(running, now_ns, interrupt))
		return false;
	if (!artis_vtime_before(vtime, theirs))
		theirs = vtime + artis_vtime_charge(ARTIS_SLICE_NRT_NS, running->weight);
	return artis_vtime_before(deadline, theirs);
}

/* Another task waits in front for the CPU of one that runs: does that make way now? */
static inline bool artis_hands_over(const struct artis_running *running, u64 now_ns)
{
	return !artis_is_protected(running, now_ns, false);
}

/* Is it time again, @apart_ns after *@last_ns, when it last was? 0: it never was. */
static inline bool artis_is_time(u64 *last_ns, u64 now_ns, u64 apart_ns)
{
	if (*last_ns && (s64)(now_ns - *last_ns) < (s64)apart_ns)
		return false;
	*last_ns = now_ns;
	return true;
}

/* May the slice of a task on an NRT CPU end by a timer? RT1+ tasks come before others anyway. */
static inline bool artis_may_time_slice(enum artis_class class)
{
	return class == ARTIS_CLASS_LINUX;
}

/* Does its CPU look now how many wait? @looked_ns: when it last did. */
static inline bool artis_looks_at_waiting(u64 *looked_ns, u64 now_ns)
{
	return artis_is_time(looked_ns, now_ns, ARTIS_WAITING_LOOK_NS);
}

/* Does the slice end by the timer, with @waiting Linux tasks for @cpus NRT CPUs? */
static inline bool artis_times_slice(u32 waiting, u32 cpus)
{
	return waiting > cpus * ARTIS_WAITING_AT_TICKS;
}

/*
 * How long that slice is. Who computes, with a @request_ns of a slice, has what is left of it: one
 * that was displaced comes back before the others, for the rest. With more it would be ahead of
 * them, and wait for two rounds.
 */
static inline u64 artis_timed_slice_ns(const struct artis_running *running, u64 request_ns)
{
	u64 left = running->deadline - running->vtime;
	u64 left_ns = left * running->weight / ARTIS_WEIGHT_NICE_0;

	if (request_ns < ARTIS_SLICE_NRT_NS ||
	    !artis_vtime_before(running->vtime, running->deadline) || left > ARTIS_WAIT_NS ||
	    left_ns > ARTIS_SLICE_NRT_NS)
		return ARTIS_SLICE_NRT_NS;
	return left_ns < ARTIS_REQUEST_NS_MIN ? ARTIS_REQUEST_NS_MIN : left_ns;
}

/* ---- 5. Who goes to an RT CPU ---- */

/* Whether a task at the user boundary goes from an NRT CPU to an RT CPU. */
enum artis_verdict {
	ARTIS_STAY,		/* the balance does not ask for a move */
	ARTIS_REFUSE_ESTIMATE,	/* it would, but the task would soon be back */
	ARTIS_PROMOTE,
};

/*
 * A task's recent dealings with the kernel, in time it spent on a CPU: faults,
 * going to sleep, and system calls that began on an RT CPU.
 */
struct artis_calls {
	u64 interval_ns;	/* running mean between two entries; 0: none seen yet */
	u64 since_ns;		/* since the last entry */
};

/*
 * What came of sending a task to RT CPUs. Nobody sees a task's system calls on
 * NRT CPUs, because there every call of the machine would pay for it; how long it
 * could stay on an RT CPU is seen exactly.
 */
struct artis_trial {
	u64 until_ns;		/* not tried again before */
	u64 pause_ns;		/* how long it was not, the last time; 0: the last stay paid */
};

/* How busy one side is, RT or NRT. */
struct artis_side {
	u32 cpus;		/* online CPUs of the side */
	u32 tasks;		/* runnable tasks of sched_ext there, running ones included */
	u32 rt1_tasks;		/* RT1+ tasks among them; for the RT side */
	u32 rt_util;		/* mean share RT0 tasks take of these CPUs, of ARTIS_CAPACITY */
	u64 weight;		/* of the runnable tasks */
};

/*
 * The task ran for @ran_ns and called the kernel @entries times meanwhile. When
 * exactly is not known. It need not be, because the answer is used at ticks only.
 */
static inline void artis_calls_note(struct artis_calls *calls, u64 ran_ns, u32 entries)
{
	u64 mean_ns;

	calls->since_ns += ran_ns;
	if (!entries)
		return;
	mean_ns = calls->since_ns / entries;
	calls->since_ns = 0;
	if (!calls->interval_ns || entries >> ARTIS_INTERVAL_SHIFT)
		calls->interval_ns = mean_ns;
	else
		calls->interval_ns += ((s64)(mean_ns - calls->interval_ns) * entries) >>
				      ARTIS_INTERVAL_SHIFT;
	/* 0 is taken for "none seen yet" */
	if (!calls->interval_ns)
		calls->interval_ns = 1;
}

/*
 * Next migration attempt estimation (paper, section 2.3): time until the task
 * will call the kernel again. In the first half of the mean interval that is what
 * is left of it. After that the task may have changed its habit, and the best guess
 * is that it goes on for as long as it already did.
 */
static inline u64 artis_next_entry_ns(const struct artis_calls *calls)
{
	if (calls->since_ns < calls->interval_ns / 2)
		return calls->interval_ns - calls->since_ns;
	return calls->since_ns;
}

/* The move there and back must pay for itself. */
static inline bool artis_pays_to_move(const struct artis_calls *calls)
{
	return artis_next_entry_ns(calls) >= 2 * ARTIS_MIGRATION_NS;
}

/* A stay on an RT CPU ended because the task entered the kernel after @stayed_ns. */
static inline void artis_trial_ended(struct artis_trial *trial, enum artis_class class, u64 now_ns,
				     u64 stayed_ns)
{
	u64 longest = class == ARTIS_CLASS_RT1 ? ARTIS_PAUSE_RT1_NS_MAX : ARTIS_PAUSE_NS_MAX;

	if (stayed_ns >= 2 * ARTIS_MIGRATION_NS) {
		trial->pause_ns = 0;
		trial->until_ns = now_ns;
		return;
	}
	trial->pause_ns = trial->pause_ns ? 2 * trial->pause_ns : ARTIS_PAUSE_NS_MIN;
	if (trial->pause_ns > longest)
		trial->pause_ns = longest;
	trial->until_ns = now_ns + trial->pause_ns;
}

static inline bool artis_may_try(const struct artis_trial *trial, u64 now_ns)
{
	return !trial->pause_ns || (s64)(now_ns - trial->until_ns) >= 0;
}

/*
 * Run-queue length weighted by the RT load (paper, section 2.3), for one CPU of
 * the side, in 1/ARTIS_CAPACITY tasks of nice 0: with half of each CPU taken by RT
 * tasks the same queue counts twice. @more: the weight of one more task.
 */
static inline u64 artis_weighted_load(const struct artis_side *side, u32 more)
{
	u64 length = (side->weight + more) * ARTIS_CAPACITY / ARTIS_WEIGHT_NICE_0;
	u64 left = side->rt_util < ARTIS_CAPACITY ? ARTIS_CAPACITY - side->rt_util : 0;

	if (left < ARTIS_CAPACITY_LEFT_MIN)
		left = ARTIS_CAPACITY_LEFT_MIN;
	if (!side->cpus)
		return ~0ULL;
	return length * ARTIS_CAPACITY / left / side->cpus;
}

/*
 * Does the RT side have room? An RT CPU that nobody uses always has, because its time
 * is lost otherwise. Up to ARTIS_RT_QUEUE_MAX tasks may wait for each, besides the one
 * that runs.
 */
static inline bool artis_rt_hungry(const struct artis_side *rt)
{
	return rt->tasks < rt->cpus;
}

static inline bool artis_rt_full(const struct artis_side *rt)
{
	return rt->tasks >= rt->cpus * (1 + ARTIS_RT_QUEUE_MAX);
}

/*
 * May the tick of an NRT CPU consider this task at all? (It must also have
 * interrupted user mode.)
 */
static inline bool artis_may_be_promoted(const struct artis_task_view *task)
{
	return task->class != ARTIS_CLASS_KTHREAD && task->affinity != ARTIS_AFFINITY_ONE &&
	       task->affinity != ARTIS_AFFINITY_NRT && !task->fixed;
}

/*
 * How often to look at a task on an NRT CPU. RT1+ tasks at every tick: the RT
 * CPUs have the latency they ask for. A Linux task when most of its slice is over
 * (@left_ns; no tick may see the end of one that a timer ends), or when an RT CPU has
 * nothing to do or nothing in reserve.
 */
static inline bool artis_look(enum artis_class class, u64 left_ns, const struct artis_side *rt)
{
	return class == ARTIS_CLASS_RT1 || left_ns < ARTIS_SLICE_NRT_NS / 2 ||
	       rt->tasks < 2 * rt->cpus;
}

/*
 * A task in user mode on an NRT CPU: does it go to an RT CPU? @burst_ns: it has run
 * for so long since it woke up; @nrt counts the task itself.
 */
static inline enum artis_verdict artis_promote(const struct artis_task_view *task,
					       const struct artis_calls *calls,
					       const struct artis_trial *trial, u64 now_ns,
					       u64 burst_ns, const struct artis_side *rt,
					       const struct artis_side *nrt)
{
	if (task->class == ARTIS_CLASS_KTHREAD || !rt->cpus)
		return ARTIS_STAY;
	if (task->class == ARTIS_CLASS_RT1) {
		/*
		 * Association rule: RT1+ wants the RT CPUs, whatever the balance says.
		 * With another RT1+ task on each it is better off here, where it comes
		 * before the Linux tasks.
		 */
		if (rt->rt1_tasks >= rt->cpus)
			return ARTIS_STAY;
	} else {
		/* nobody waits on the NRT side: a move would only cost */
		if (nrt->tasks <= nrt->cpus)
			return ARTIS_STAY;
		/*
		 * It would wait there, behind slices that nobody cuts short. That is for who
		 * computes, not for who answers somebody.
		 */
		if (!artis_rt_hungry(rt) &&
		    (burst_ns < ARTIS_SLICE_NRT_NS || artis_rt_full(rt) ||
		     artis_weighted_load(rt, task->weight) > artis_weighted_load(nrt, 0)))
			return ARTIS_STAY;
	}
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

/*
 * A task in user mode whose slice on an RT CPU is over: does it stay on the RT
 * side? Association rule, RT to NRT: Linux tasks go first. @rt
 * counts the task itself. One that RT0 keeps waiting goes where a CPU may be had at once;
 * but where it would wait for an NRT CPU, too, the next RT CPU that RT0 leaves needs it.
 */
static inline bool artis_stays_rt(const struct artis_task_view *task, const struct artis_side *rt,
				  const struct artis_side *nrt)
{
	if (task->class == ARTIS_CLASS_RT1)
		return true;
	if (task->handed_back && nrt->tasks <= nrt->cpus)
		return false;
	if (!task->handed_back && rt->tasks <= rt->cpus)
		return true;
	return artis_weighted_load(rt, 0) <= artis_weighted_load(nrt, task->weight);
}

/* ---- 6. Where a runnable task goes ---- */

/* Which CPU a task that wakes up is sent to. */
enum artis_pick {
	ARTIS_PICK_LAST,	/* the one where it was last */
	ARTIS_PICK_IDLE,	/* an idle NRT CPU, which gets it at once */
	ARTIS_PICK_WAKER,	/* the waker's, if artis_may_hand_over() and artis_comes_first() */
	ARTIS_PICK_NRT,		/* any NRT CPU */
	ARTIS_PICK_NRT_FRONT,	/* the same, an idle one first; it waits in front there */
	ARTIS_PICK_NRT_LATER,	/* the first NRT CPU that asks for a task, if none is idle */
};

/*
 * The @nth to try, 0 to 2, for who cannot have the one before. A wakeup never touches the run
 * queue of another CPU that is an RT CPU: the waker would hold its lock. @from_rt: the waker is an
 * interrupt or softirq of an RT CPU, the shorter the better, because RT0's timer waits. A kernel
 * thread, which the timer of a delayed work wakes there for example, comes before those who share
 * by virtual time and needs no place in it: ops.enqueue() is spared. If it may use the waker's CPU
 * it stays in that run queue until an NRT CPU takes it: an NRT CPU that switches holds its own for
 * up to 90 us.
 */
static inline enum artis_pick artis_pick_cpu(const struct artis_task_view *task, bool from_rt,
					     u32 nth)
{
	if (artis_is_bound(task->affinity) || task->fixed)
		return ARTIS_PICK_LAST;
	if (from_rt)
		return task->class != ARTIS_CLASS_KTHREAD ? ARTIS_PICK_NRT :
		       nth ? ARTIS_PICK_NRT_FRONT :
			     ARTIS_PICK_NRT_LATER;
	switch (nth) {
	case 0: return ARTIS_PICK_IDLE;
	case 1: return ARTIS_PICK_WAKER;
	default: return ARTIS_PICK_NRT;
	}
}

/*
 * Does no other CPU take a task that waits at an NRT CPU? A bound task is taken by none. While no
 * NRT CPU is idle (@idle of them are), each has tasks of its own, and an RT CPU takes none that has
 * just woken up. When that changes, each tick sends a task that has run for a while elsewhere, see
 * artis_hands_over().
 */
static inline bool artis_is_alone(const struct artis_task_view *task, u32 idle)
{
	return task->affinity == ARTIS_AFFINITY_ONE || !idle;
}

/*
 * May one more task wait in front at a CPU, behind @in_front others, because its turn is before
 * that of all who wait elsewhere? Then nobody is asked who comes next, which matters for messages.
 * Where others would take it, only one does (@alone: see artis_is_alone()).
 */
static inline bool artis_has_room(bool alone, u32 in_front)
{
	return in_front < (alone ? ARTIS_IN_FRONT_ALONE_MAX : 1);
}

/*
 * May a task that wakes up be handed the CPU of its waker, which says that it will sleep
 * at once (@sync)? @rt_cpu: of the waker's CPU; @waits: somebody waits there.
 */
static inline bool artis_may_hand_over(const struct artis_task_view *task, bool sync, bool rt_cpu,
				       bool interrupt, bool waits)
{
	return sync && !rt_cpu && !interrupt && !waits && task->class == ARTIS_CLASS_LINUX;
}

/*
 * Is the turn of a task that wakes up before that of the first that waits? Only then it
 * goes past the queue. @others: somebody waits; @first: the deadline of the first one.
 */
static inline bool artis_comes_first(u64 deadline, bool others, u64 first)
{
	return !others || artis_vtime_before(deadline, first);
}

/* Where a task that becomes runnable is queued. */
enum artis_place {
	ARTIS_PLACE_PINNED,	/* for its one CPU */
	ARTIS_PLACE_NRT,	/* for the NRT CPUs */
	ARTIS_PLACE_RT,		/* for the RT CPUs: it stays there */
	ARTIS_PLACE_RT_ONLY,	/* ... it may run nowhere else */
	ARTIS_PLACE_RT_PROMOTED, /* ... it comes from the NRT side */
	ARTIS_PLACE_RT_OR_NRT,	/* measure the sides, then ask artis_place_by_sides() */
};

/*
 * @on: the scheduler has all tasks. @rt_cpus: RT CPUs online. A task that was on an
 * RT CPU and that nothing marked is in user mode still. But who wakes up is in the
 * kernel, wherever it went to sleep; nothing is measured on RT0's way; and an RT1+ task
 * that a long burst of RT0 keeps waiting comes first on the NRT CPUs.
 */
static inline enum artis_place artis_place(const struct artis_task_view *task, bool on, u32 rt_cpus)
{
	if (task->affinity == ARTIS_AFFINITY_ONE || task->fixed)
		return ARTIS_PLACE_PINNED;
	if (task->affinity == ARTIS_AFFINITY_RT)
		return ARTIS_PLACE_RT_ONLY;
	if (!on || task->class == ARTIS_CLASS_KTHREAD || task->affinity == ARTIS_AFFINITY_NRT)
		return ARTIS_PLACE_NRT;
	if (task->state == ARTIS_STATE_PROMOTED)
		return ARTIS_PLACE_RT_PROMOTED;
	if (task->handed_back && (task->immed || task->class == ARTIS_CLASS_RT1))
		return ARTIS_PLACE_NRT;
	if (task->state == ARTIS_STATE_RT && !task->wakes && rt_cpus)
		return ARTIS_PLACE_RT_OR_NRT;
	return ARTIS_PLACE_NRT;
}

/* @rt counts the task itself. @shared: the RT side's queue is for all CPUs, see 12. */
static inline enum artis_place artis_place_by_sides(const struct artis_task_view *task, bool shared,
						    const struct artis_side *rt,
						    const struct artis_side *nrt)
{
	return shared || artis_stays_rt(task, rt, nrt) ? ARTIS_PLACE_RT : ARTIS_PLACE_NRT;
}

/* Is this a place on the RT side? For a task of one CPU that is what its CPU is. */
static inline bool artis_is_rt_place(enum artis_place place, bool rt_cpu)
{
	return place == ARTIS_PLACE_PINNED ? rt_cpu : place >= ARTIS_PLACE_RT;
}

/* The state of a task that is queued: only the RT side keeps what is known of it. */
static inline enum artis_state artis_state_queued(enum artis_place place)
{
	return place >= ARTIS_PLACE_RT ? ARTIS_STATE_RT : ARTIS_STATE_NRT;
}

/* How the tasks of a queue are ordered. Each place has a queue for each order it uses. */
enum artis_order {
	ARTIS_ORDER_ARRIVAL,	/* kernel threads that just woke up */
	ARTIS_ORDER_LEVEL,	/* RT1+ tasks: artis_rt1_key() */
	ARTIS_ORDER_VTIME,	/* everybody else */
};

/*
 * A kernel thread that wakes up is what others wait for: it comes first, until it
 * has used up a slice.
 */
static inline enum artis_order artis_order(const struct artis_task_view *task,
					   enum artis_place place)
{
	if (task->class == ARTIS_CLASS_KTHREAD && task->wakes && place < ARTIS_PLACE_RT)
		return ARTIS_ORDER_ARRIVAL;
	if (task->class == ARTIS_CLASS_RT1 && place != ARTIS_PLACE_PINNED)
		return ARTIS_ORDER_LEVEL;
	return ARTIS_ORDER_VTIME;
}

/*
 * Is it placed in virtual time as it is queued? The turn of a kernel thread of an RT CPU does not
 * depend on that, and it may wake up in an interrupt that RT0 waits for. If it uses up its slice
 * it is placed then. RCU's thread (@rcus) never is, and comes first if it uses up its slice: it is
 * runnable most of the time and hardly runs, so its weight would look like work of the NRT side.
 */
static inline bool artis_needs_vtime(enum artis_order order, enum artis_place place, bool rt_cpu,
				     bool rcus)
{
	return !rcus &&
	       (order != ARTIS_ORDER_ARRIVAL || place != ARTIS_PLACE_PINNED || !rt_cpu);
}

/*
 * Does RT0 take the CPU from a task at the very moment at which its slice is over?
 * Then the task stays at the head of the CPU's queue with a rest of its slice, and
 * goes when RT0 has gone: to queue it elsewhere would be on RT0's way. First
 * whether that may be, then, with the task and RT0 looked at, whether it is so.
 * @immed: no task waits behind RT0 on this CPU. @ahead: it runs although RT0 would.
 */
static inline bool artis_may_wait_behind_rt0(const struct artis_task_view *task, bool rt_cpu,
					     bool immed, bool ahead)
{
	return rt_cpu && !immed && !ahead && !task->wakes && !task->handed_back;
}

static inline bool artis_waits_behind_rt0(bool running, bool rt0_runnable)
{
	return running && rt0_runnable;
}

/* ---- 7. Who makes room, and which CPU is woken ---- */

/* What a CPU is asked for. */
enum artis_kick {
	ARTIS_KICK_NONE,
	ARTIS_KICK_IDLE,		/* to look for a task if it is idle */
	ARTIS_KICK_PREEMPT,		/* to end the slice of its task */
	ARTIS_KICK_PREEMPT_UNLESS_DUE,	/* ... unless RT0's timer meets artis_kthread_turn_ns() */
};

/* Does a running task make room for one of @class? Only Linux tasks do. */
static inline bool artis_displaces(enum artis_class class, enum artis_class running)
{
	return (class == ARTIS_CLASS_RT1 || class == ARTIS_CLASS_KTHREAD) &&
	       running == ARTIS_CLASS_LINUX;
}

/* @rt0_here: it is this CPU, an RT CPU, and RT0 takes it next: all else can wait. */
static inline bool artis_may_kick(bool rt0_here)
{
	return !rt0_here;
}

/*
 * A task that wakes up waits for an NRT CPU, whose task makes room for the first that waits: is
 * that CPU told at once? @from_rt: it would be an RT CPU that tells it. That takes an interrupt
 * there, which waits for the other's run queue; and the other sees it at its next tick.
 */
static inline bool artis_may_tell(bool from_rt)
{
	return !from_rt;
}

/*
 * A task was queued for its one CPU, where a task of @running runs. On an RT CPU a
 * kernel thread whose turn RT0's timer would meet waits until RT0 has gone, or for
 * the next tick.
 */
static inline enum artis_kick artis_kick_pinned(enum artis_class class, enum artis_order order,
						bool rt_cpu, enum artis_class running)
{
	if (order != ARTIS_ORDER_ARRIVAL || !artis_displaces(class, running))
		return ARTIS_KICK_IDLE;
	return rt_cpu ? ARTIS_KICK_PREEMPT_UNLESS_DUE : ARTIS_KICK_PREEMPT;
}

static inline u64 artis_kthread_turn_ns(void)
{
	return ARTIS_KTHREAD_TURN_NS;
}

/* Only who wakes up takes over a CPU. */
static inline bool artis_may_take_over(const struct artis_task_view *task)
{
	return task->wakes;
}

/*
 * May a task wait in front at the CPU where it is? It may take that over, or else keep its turn,
 * see artis_keeps_turn(). @rt_side: it goes to the RT side. Where RT0 stays for long, nobody waits.
 */
static inline bool artis_may_wait_here(const struct artis_task_view *task, bool rt_side)
{
	return !rt_side && !task->handed_back &&
	       (artis_may_take_over(task) || task->class == ARTIS_CLASS_LINUX);
}

/* Does a task that wakes up take over the NRT CPU where it is? */
enum artis_take_over {
	ARTIS_TAKE_OVER_NEVER,
	ARTIS_TAKE_OVER_BY_DEADLINE,	/* if artis_takes_over() says so; the first that waits does */
	ARTIS_TAKE_OVER_NEXT,		/* it does itself, if artis_next_displaces(); else it waits */
	ARTIS_TAKE_OVER_FIRST,		/* it waits before all that wait in front */
	ARTIS_TAKE_OVER_AT_ONCE,	/* it does itself, whoever waits */
};

/*
 * Will the task that runs soon be done, which is no Linux task? RT0 is, a kernel thread is. So is
 * an RT1+ task, unless it has run for a while since it woke up: then it computes.
 */
static inline bool artis_is_soon_done(enum artis_class running_class,
				      const struct artis_running *running, u64 now_ns)
{
	return !artis_is_rt1(running_class) ||
	       running->burst_ns + artis_ran_ns(running, now_ns) < ARTIS_PROTECT_NS;
}

/*
 * Only Linux tasks make room: for kernel threads of this CPU alone, which others wait
 * for, and for RT1+ tasks. @rt1_waits: an RT1+ task is queued, and would be passed over.
 * @in_front: tasks that took over earlier have not run yet; @next: see artis_comes_next();
 * @soon_done: see artis_is_soon_done().
 */
static inline enum artis_take_over artis_take_over(const struct artis_task_view *task,
						   enum artis_class running, bool rt1_waits,
						   bool in_front, bool next, bool soon_done)
{
	if (task->class == ARTIS_CLASS_RT1) {
		if (rt1_waits)
			return ARTIS_TAKE_OVER_NEVER;
		if (running == ARTIS_CLASS_LINUX)
			return ARTIS_TAKE_OVER_AT_ONCE;
		return in_front ? ARTIS_TAKE_OVER_FIRST : ARTIS_TAKE_OVER_NEVER;
	}
	if (running != ARTIS_CLASS_LINUX)
		return task->class == ARTIS_CLASS_LINUX && next && soon_done && !rt1_waits ?
			       ARTIS_TAKE_OVER_NEXT :
			       ARTIS_TAKE_OVER_NEVER;
	if (task->class == ARTIS_CLASS_KTHREAD && task->affinity == ARTIS_AFFINITY_ONE)
		return ARTIS_TAKE_OVER_AT_ONCE;
	return next ? ARTIS_TAKE_OVER_NEXT : ARTIS_TAKE_OVER_BY_DEADLINE;
}

/*
 * A task that an interrupt woke up is displaced by one that took over (@in_front): does it come
 * next again? If it has run for a short time only since it woke up, @burst_ns.
 */
static inline bool artis_keeps_turn(const struct artis_task_view *task, bool next, bool in_front,
				    u64 burst_ns)
{
	return !task->wakes && next && in_front && burst_ns < ARTIS_PROTECT_NS;
}

/*
 * A task of @class begins to run on an NRT CPU: does it make room for an RT1+ task that waits? If
 * nobody chose it (@chosen): it waited in front, or goes on after RT0, and the RT1+ task woke up
 * when there was nobody to displace.
 */
static inline bool artis_makes_room_late(enum artis_class class, bool chosen)
{
	return !chosen && artis_displaces(ARTIS_CLASS_RT1, class);
}

/* Does a task that comes next displace the one that runs? Else it follows when that stops. */
static inline bool artis_next_displaces(enum artis_class running_class,
					const struct artis_running *running, u64 now_ns)
{
	return running_class == ARTIS_CLASS_LINUX && !artis_is_protected(running, now_ns, true);
}

/*
 * A task does not take over the CPU where it woke up: does it wait in front there, if its turn is
 * before that of all who wait? One that others would take stays where each of them finds it.
 */
static inline bool artis_may_follow(const struct artis_task_view *task, bool alone, u32 in_front)
{
	return task->class == ARTIS_CLASS_LINUX && alone && artis_has_room(alone, in_front);
}

/*
 * A task that takes over comes before all that took over earlier. @waiting: how many of
 * those have not run yet; @next: see artis_comes_next().
 */
static inline bool artis_may_wait_in_front(enum artis_class class, bool next, u32 waiting)
{
	u32 most = next ? ARTIS_IN_FRONT_NEXT_MAX : ARTIS_IN_FRONT_MAX;

	return class != ARTIS_CLASS_LINUX || waiting < most;
}

/* Is a task of this class on an NRT CPU compared with the first that waits, at each tick? */
static inline bool artis_makes_way(enum artis_class class)
{
	return class == ARTIS_CLASS_LINUX;
}

/*
 * A task was queued for the NRT CPUs, and none of them is idle: is one looked for whose
 * task makes room, see artis_displaces()?
 */
static inline bool artis_seeks_room(enum artis_class class)
{
	return class == ARTIS_CLASS_RT1;
}

/* Does the task of a CPU make room for one of @class there? @already: for another one. */
static inline bool artis_makes_room(bool rt_cpu, bool offline, bool already, enum artis_class class,
				    enum artis_class running)
{
	return !rt_cpu && !offline && !already && artis_displaces(class, running);
}

/* May an RT CPU be woken for a task of the RT queue? */
static inline bool artis_may_wake_rt(bool offline, bool rt0_runnable)
{
	return !offline && !rt0_runnable;
}

/* What an RT CPU that may be woken can do for a task just queued; bits. */
enum artis_wake {
	ARTIS_WAKE_NONE,
	ARTIS_WAKE_KICK = 1,		/* kick it: it is in a switch, and may have found nothing */
	ARTIS_WAKE_UNLESS_DUE = 2,	/* it has no task: kick it, no other is needed */
	ARTIS_WAKE_DISPLACE = 4,	/* its task makes room, if no CPU is without one */
};

/*
 * @hosts: it has a task, running or displaced; @running: that one's class. A CPU
 * without a task need not look idle: it may be about to be, having found the queue
 * empty before the task was in it, and the kick makes sure that it looks again. It
 * is left alone where RT0's timer meets artis_idle_switch_ns(); it looks by itself
 * when RT0 has gone.
 */
static inline u32 artis_wake_rt(enum artis_class class, bool hosts, enum artis_class running,
				bool switching)
{
	if (!hosts)
		return ARTIS_WAKE_UNLESS_DUE;
	return (switching ? ARTIS_WAKE_KICK : ARTIS_WAKE_NONE) |
	       (class == ARTIS_CLASS_RT1 && artis_displaces(class, running) ? ARTIS_WAKE_DISPLACE :
									     ARTIS_WAKE_NONE);
}

/* To leave the idle loop takes about as long as the switch. */
static inline u64 artis_idle_switch_ns(u64 switch_ns)
{
	return 2 * switch_ns;
}

/* ---- 8. Who is next on a CPU ---- */

/* How a CPU chooses its next task. */
enum artis_service {
	ARTIS_SERVICE_RT,
	ARTIS_SERVICE_RT_OFFLINE,
	ARTIS_SERVICE_NRT,
};

/* One attempt to find the next task. The first that finds one ends the search. */
enum artis_step {
	ARTIS_STEP_END,
	ARTIS_STEP_KTHREAD_HERE,	/* a kernel thread that woke up, for this CPU alone */
	ARTIS_STEP_KTHREAD_SHARED,	/* ... for any NRT CPU; RCU's thread that was held first */
	ARTIS_STEP_RT1,			/* RT1+ tasks, see artis_rt1_turn() */
	ARTIS_STEP_OVERDUE,		/* who waits too long for an RT CPU */
	ARTIS_STEP_FAIR,		/* Linux tasks, and tasks of this CPU alone, by virtual time */
	ARTIS_STEP_PINNED,		/* tasks of this CPU alone */
	ARTIS_STEP_RT1_LEFT,		/* RT1+ tasks whose turn it was not: nobody else was there */
	ARTIS_STEP_GO_ON,		/* the task that ran before */
	ARTIS_STEP_FAR,			/* Linux tasks that wait at another cache */
	ARTIS_STEP_HELP_LINUX,		/* who waits for an RT CPU: Linux tasks */
	ARTIS_STEP_HELP_RT1,		/* ... RT1+ tasks; who is stopped, see artis_is_beset() */
};

/* The longest order of service, its end included. */
#define ARTIS_STEPS_MAX 11

/*
 * An NRT CPU on which real-time tasks are runnable (@rt_runnable) is served by the kernel's deadline
 * server when they leave it no time. A server that is given no task stops. It starts again when the
 * first task of ours becomes runnable on that run queue, and tasks in shared queues, held and
 * stopped ones count there, too. So on such a CPU no task is sent away, held or stopped, and
 * whoever waits is taken: a server that stopped while one waits would never start again.
 */
static inline bool artis_is_beset(bool rt_cpu, bool rt_runnable)
{
	return !rt_cpu && rt_runnable;
}

/*
 * For how long real-time tasks have kept a CPU from everybody else: @ticks in a row found one, and
 * no other task began to run. 0 where ticks are not known.
 */
static inline u64 artis_beset_ns(u32 ticks, u64 tick_ns)
{
	return ticks * tick_ns;
}

/* Is that long? Then artis, the process, sees to it that the machine answers. */
static inline bool artis_is_beset_long(u64 beset_ns)
{
	return beset_ns >= ARTIS_BESET_NS;
}

/* Has a task waited for so long, since @since_ns, that a CPU that is beset may take it? */
static inline bool artis_is_stranded(u64 now_ns, u64 since_ns)
{
	return since_ns && (s64)(now_ns - since_ns) >= (s64)ARTIS_BESET_NS;
}

/*
 * Tasks have been runnable on a CPU that was beset all the time, for @waits_ns: does no deadline
 * server serve them? One would have within a second, its period.
 */
static inline bool artis_is_unserved(u64 waits_ns)
{
	return waits_ns >= ARTIS_UNSERVED_NS;
}

/*
 * Are RT CPUs for tasks in user mode only? With no NRT CPU left, on the way to its end, the
 * machine needs every CPU for everybody.
 */
static inline bool artis_has_sides(u32 nrt_cpus)
{
	return nrt_cpus;
}

/*
 * An RT CPU that is back but unwatched serves who may run nowhere else.
 */
static inline enum artis_service artis_service(bool rt_cpu, bool offline, u32 nrt_cpus)
{
	if (!rt_cpu || !artis_has_sides(nrt_cpus))
		return ARTIS_SERVICE_NRT;
	return offline ? ARTIS_SERVICE_RT_OFFLINE : ARTIS_SERVICE_RT;
}

/*
 * The order of service. Kernel threads first: others wait for them. Then RT1+, then
 * everybody else. An RT CPU takes from the RT queues only. An NRT CPU takes from
 * them what waits too long there, and anybody before it is idle, Linux tasks first,
 * because RT1+ tasks want an RT CPU.
 */
static inline enum artis_step artis_step(enum artis_service service, u32 nth)
{
	switch (service) {
	case ARTIS_SERVICE_RT:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_RT1;
		case 2: return ARTIS_STEP_FAIR;
		case 3: return ARTIS_STEP_RT1_LEFT;
		case 4: return ARTIS_STEP_GO_ON;
		case 5: return ARTIS_STEP_FAR;
		default: return ARTIS_STEP_END;
		}
	case ARTIS_SERVICE_RT_OFFLINE:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_PINNED;
		default: return ARTIS_STEP_END;
		}
	case ARTIS_SERVICE_NRT:
		switch (nth) {
		case 0: return ARTIS_STEP_KTHREAD_HERE;
		case 1: return ARTIS_STEP_KTHREAD_SHARED;
		case 2: return ARTIS_STEP_RT1;
		case 3: return ARTIS_STEP_OVERDUE;
		case 4: return ARTIS_STEP_FAIR;
		case 5: return ARTIS_STEP_RT1_LEFT;
		case 6: return ARTIS_STEP_GO_ON;
		case 7: return ARTIS_STEP_FAR;
		case 8: return ARTIS_STEP_HELP_LINUX;
		case 9: return ARTIS_STEP_HELP_RT1;
		default: return ARTIS_STEP_END;
		}
	}
	return ARTIS_STEP_END;
}

/* Whose turn it is on a CPU, between RT1+ tasks and everybody else. */
struct artis_turn {
	u64 rt1_since_ns;	/* RT1+ tasks have come first since then */
	u64 others_until_ns;	/* the others come first until then */
};

/* No RT1+ task is here: the next one has its whole phase before it. */
static inline void artis_turn_reset(struct artis_turn *turn, u64 now_ns)
{
	turn->rt1_since_ns = now_ns;
	turn->others_until_ns = now_ns;
}

/* RT1+ tasks and others wait: do the others come first at the moment? */
static inline bool artis_others_turn(struct artis_turn *turn, u64 now_ns)
{
	if ((s64)(turn->others_until_ns - now_ns) > 0)
		return true;
	if ((s64)(now_ns - turn->rt1_since_ns) < (s64)ARTIS_RT1_PHASE_NS)
		return false;
	turn->others_until_ns = now_ns + ARTIS_OTHERS_PHASE_NS;
	turn->rt1_since_ns = turn->others_until_ns;
	return true;
}

enum artis_rt1_turn {
	ARTIS_TURN_NO_RT1,	/* no RT1+ task is here */
	ARTIS_TURN_OTHERS,	/* one is, and the others come first */
	ARTIS_TURN_WAITING,	/* the first that waits; if it is gone, or not allowed here, who runs */
	ARTIS_TURN_RUNNING,	/* the one whose slice is over goes on */
};

/* @waits: an RT1+ task does; @runs: one may go on; @others: somebody else waits as well. */
static inline enum artis_rt1_turn artis_rt1_turn(struct artis_turn *turn, bool waits, bool runs,
						 bool others, u64 now_ns)
{
	if (!waits && !runs) {
		artis_turn_reset(turn, now_ns);
		return ARTIS_TURN_NO_RT1;
	}
	if (others && artis_others_turn(turn, now_ns))
		return ARTIS_TURN_OTHERS;
	return waits ? ARTIS_TURN_WAITING : ARTIS_TURN_RUNNING;
}

/*
 * Does an NRT CPU serve the RT1+ queue of the RT side? A task there, which no RT CPU runs
 * now, does not wait behind Linux tasks here. @nrt, @rt: RT1+ tasks queued.
 */
static inline bool artis_takes_rt1_of_rt(u32 nrt, u32 rt)
{
	return !nrt && rt;
}

/*
 * Is a task whose slice is over compared with those that wait here? An RT1+ task had its
 * turn before.
 */
static inline bool artis_is_compared(enum artis_class class)
{
	return !artis_is_rt1(class);
}

/* Does a task whose slice is over go on? @first: the deadline of the first that waits. */
static inline bool artis_stays_first(u64 deadline, u64 first)
{
	return artis_vtime_before(deadline, first);
}

/* Is the deadline of the first of a queue before that of another's? @has: there is one. */
static inline bool artis_is_first(bool has, u64 deadline, bool other, u64 other_deadline)
{
	return has && (!other || artis_vtime_before(deadline, other_deadline));
}

/* The queues of Linux tasks from which a CPU takes, and the deadline of the first of each. */
struct artis_heads {
	bool own;	/* of this CPU alone: somebody waits there */
	bool side;	/* of the side, at the CPU's cache */
	bool both;	/* of both sides, see 12 */
	u64 own_deadline;
	u64 side_deadline;
	u64 both_deadline;
};

enum artis_queue {
	ARTIS_QUEUE_NONE,
	ARTIS_QUEUE_OWN,
	ARTIS_QUEUE_SIDE,
	ARTIS_QUEUE_BOTH,
	ARTIS_QUEUES = ARTIS_QUEUE_BOTH,	/* how many there are */
};

/*
 * The queue whose first task has the first deadline; of equal ones that of the side. Who finds
 * that the task is not allowed on the CPU forgets that queue, and asks again.
 */
static inline enum artis_queue artis_first_queue(const struct artis_heads *heads)
{
	enum artis_queue queue = heads->side ? ARTIS_QUEUE_SIDE : ARTIS_QUEUE_NONE;
	u64 deadline = heads->side_deadline;

	if (artis_is_first(heads->both, heads->both_deadline, queue, deadline)) {
		queue = ARTIS_QUEUE_BOTH;
		deadline = heads->both_deadline;
	}
	if (artis_is_first(heads->own, heads->own_deadline, queue, deadline))
		queue = ARTIS_QUEUE_OWN;
	return queue;
}

static inline u64 artis_first_deadline(const struct artis_heads *heads, enum artis_queue queue)
{
	if (queue == ARTIS_QUEUE_OWN)
		return heads->own_deadline;
	return queue == ARTIS_QUEUE_BOTH ? heads->both_deadline : heads->side_deadline;
}

static inline void artis_forget_queue(struct artis_heads *heads, enum artis_queue queue)
{
	heads->own &= queue != ARTIS_QUEUE_OWN;
	heads->side &= queue != ARTIS_QUEUE_SIDE;
	heads->both &= queue != ARTIS_QUEUE_BOTH;
}

/*
 * May a task whose slice is over, and that is runnable, go on? On an RT CPU: who is in
 * user mode or allowed nowhere else. Elsewhere: all but who waits to be queued for the
 * RT CPUs. A task that was to leave as RT0 came leaves now, and one that is to stop stops.
 */
static inline bool artis_may_go_on(const struct artis_task_view *task, bool rt_cpu, u32 nrt_cpus)
{
	if (artis_is_leaving(task->state) || task->state == ARTIS_STATE_STOPPED)
		return false;
	if (rt_cpu && artis_has_sides(nrt_cpus))
		return artis_is_bound(task->affinity) || task->state == ARTIS_STATE_RT;
	return task->state != ARTIS_STATE_PROMOTED;
}

/* Has a task of @weight waited for an RT CPU for so long that an NRT CPU takes it? */
static inline bool artis_waited_for_rt(u64 now_ns, u64 since_ns, u32 weight)
{
	s64 longest_ns = ARTIS_RT_WAIT_MAX_NS;

	if (weight < ARTIS_WEIGHT_NICE_0)
		longest_ns = artis_vtime_charge(ARTIS_RT_WAIT_MAX_NS, weight);
	if (longest_ns > (s64)ARTIS_RT_WAIT_LIGHT_MAX_NS)
		longest_ns = ARTIS_RT_WAIT_LIGHT_MAX_NS;
	return (s64)(now_ns - since_ns) > longest_ns;
}

/* Does an NRT CPU look for one now? @looked_ns: when it last did; 0: it never did. */
static inline bool artis_look_for_waiting(u64 *looked_ns, u64 now_ns)
{
	return artis_is_time(looked_ns, now_ns, ARTIS_RT_WAIT_LOOK_NS);
}

/* Does it look into shared queues that seem empty? @looked_ns: as above. */
static inline bool artis_look_into_empty(u64 *looked_ns, u64 now_ns)
{
	return artis_is_time(looked_ns, now_ns, ARTIS_EMPTY_LOOK_NS);
}

/*
 * It took one, which comes before everybody else here. There may be more, one for each
 * place in the RT queue, and they must not come all in a row: the others have their turn.
 */
static inline void artis_took_waiting(u64 *looked_ns, u64 now_ns)
{
	*looked_ns = now_ns + ARTIS_RT_WAIT_PAUSE_NS;
}

/*
 * May a task be passed over that is runnable since @runnable_at_ns? To take a task locks
 * the run queue of the CPU where it was; if RT0 needs that lock now, another task does.
 */
static inline bool artis_may_pass_over(u64 now_ns, u64 runnable_at_ns)
{
	return (s64)(now_ns - runnable_at_ns) < (s64)ARTIS_PASSED_OVER_NS;
}

/* @passed tasks were passed over: is the next one looked at? */
static inline bool artis_passes_on(u32 passed)
{
	return passed <= ARTIS_PASSED_OVER_MAX;
}

/* ---- 9. RT0's timer and switches of tasks ---- */

/*
 * A switch of tasks holds interrupts off, and RT0's timer out. Does a timer that is
 * due at @due_ns find what begins now and takes @takes_ns? A timer that is due already
 * waits until interrupts are on, and finds it, too; but for no longer than a switch may
 * take. After that it is over, or was no timer of ours.
 */
static inline bool artis_finds(u64 due_ns, u64 now_ns, u64 takes_ns)
{
	return due_ns + ARTIS_SWITCH_NS_MAX - now_ns < takes_ns + ARTIS_SWITCH_NS_MAX;
}

/* Does RT0 need the run queue of an RT CPU now, or soon? @due_ns: its next timer. */
static inline bool artis_meets_rt0(bool rt0_runnable, u64 due_ns, u64 now_ns, u64 switch_ns)
{
	return rt0_runnable || artis_finds(due_ns, now_ns, switch_ns);
}

/*
 * A switch took @took_ns to where the next task is chosen. @switch_ns: what the next
 * one may take, to its end. It is the longest of late and a quarter more, forgotten
 * by half in 2,800 switches. The longest switches wait for the run queue of another
 * CPU and are few: forgotten sooner, the next of them would meet RT0.
 */
static inline void artis_switch_note(u64 *switch_ns, u64 took_ns)
{
	u64 whole_ns = took_ns + took_ns / 4;

	/* rounded up, or the last 4 us would stay */
	*switch_ns -= (*switch_ns + 4095) / 4096;
	if (whole_ns > ARTIS_SWITCH_NS_MAX)
		whole_ns = ARTIS_SWITCH_NS_MAX;
	if (whole_ns > *switch_ns)
		*switch_ns = whole_ns;
}

/*
 * May a task go on although its slice is over, until RT0 has gone or to the next tick,
 * because RT0's timer would meet the switch? Once (@already), and if artis_may_go_on()
 * and artis_finds() say so, too.
 */
static inline bool artis_may_put_off(bool already, bool offline)
{
	return !already && !offline;
}

/* A task begins or goes on, on an RT CPU. Does it go at once? */
enum artis_going {
	ARTIS_GOING_NOT,
	ARTIS_GOING_UNLESS_DUE,	/* ... unless RT0's timer would meet the switch */
	ARTIS_GOING_NOW,
};

/*
 * If RT0 came as the task was to go (@is_over: its slice is), it goes now, before it does
 * anything here. Not on RT0's way: another real-time thread may have had the CPU, and
 * RT0's timer be due as that one leaves. Who works in the kernel next goes all the same;
 * the others go when RT0 has gone, or at the next tick.
 */
static inline enum artis_going artis_going(bool is_over, bool kthread_waits, bool must_leave)
{
	if (must_leave)
		return ARTIS_GOING_NOW;
	return is_over || kthread_waits ? ARTIS_GOING_UNLESS_DUE : ARTIS_GOING_NOT;
}

/*
 * Ticks are @tick_ns apart. One came at @now_ns, as @jiffies were counted, and the last that was
 * noted at *@ticked_ns and *@ticked_jiffies.
 */
static inline void artis_tick_note(u64 *tick_ns, u64 *ticked_ns, u64 *ticked_jiffies, u64 now_ns,
				   u64 jiffies)
{
	u64 apart_ns = now_ns - *ticked_ns;

	if (jiffies - *ticked_jiffies == 1 && apart_ns <= ARTIS_TICK_NS_MAX)
		*tick_ns = apart_ns;
	*ticked_ns = now_ns;
	*ticked_jiffies = jiffies;
}

/*
 * RCU's thread begins a grace period, and then sleeps until all CPUs have reported that they left
 * what they read. A CPU notices the period at its next tick, the CPU of the thread at once, and
 * reports at the tick after. So an RT CPU is among the last, and of two CPUs always the last one,
 * which wakes the thread, in a softirq behind its tick: RT0 may have to wait for it. A thread that
 * does not sleep need not be woken. So it is held before, until RT CPUs have had these two ticks.
 * Nothing is late by that: its own timer would wake it behind the second one, too. @ticked_ns: when
 * the last tick of an RT CPU came; 0: it is not waited for, because its ticks are not known, or did
 * not come lately.
 */
static inline u64 artis_held_ns(u64 tick_ns, u64 ticked_ns, u64 now_ns)
{
	u64 since_ns = now_ns - ticked_ns;

	if (!tick_ns || since_ns >= 2 * tick_ns)
		return 0;
	return (since_ns < tick_ns ? 2 : 3) * tick_ns - since_ns + ARTIS_HELD_NS;
}

/*
 * A CPU asks for a task. Does the thread go on, held since @held_ns? @goes: its timer says so.
 * @beset: see artis_is_beset().
 */
static inline bool artis_held_goes(bool goes, bool beset, u64 held_ns, u64 now_ns)
{
	return held_ns && (goes || beset || (s64)(now_ns - held_ns) >= (s64)ARTIS_HELD_NS_MAX);
}

/* What a tick of an RT CPU does to the slice of the task there. */
enum artis_tick_slice {
	ARTIS_TICK_SLICE_KEEP,
	ARTIS_TICK_SLICE_PROLONG,	/* to artis_slice_prolonged_ns(), and the next tick ends it */
	ARTIS_TICK_SLICE_END,
};

/*
 * A slice that is over between two ticks makes the kernel queue the task again when RT0
 * displaces it, on RT0's way. So each ends at a tick: one that would not last until the
 * next is prolonged. @last: it was.
 */
static inline enum artis_tick_slice artis_tick_slice(u64 slice_ns, u64 tick_ns, bool last)
{
	if (last)
		return ARTIS_TICK_SLICE_END;
	return slice_ns && slice_ns <= tick_ns ? ARTIS_TICK_SLICE_PROLONG : ARTIS_TICK_SLICE_KEEP;
}

/*
 * Does RT0, which is runnable, take the CPU behind this tick? Then the tick ends no slice: to queue
 * the task elsewhere would be on RT0's way. ops.running() asks when RT0 has gone. Who may have used
 * up the time of its cgroup (@limited) is only stopped at ticks, so those count.
 */
static inline bool artis_tick_is_rt0s(bool rt0_runnable, bool limited)
{
	return rt0_runnable && !limited;
}

/* More than two ticks are apart at most, so that it is not over before the next one. */
static inline u64 artis_slice_prolonged_ns(void)
{
	return 2 * ARTIS_TICK_NS_MAX;
}

/*
 * The same for a task that goes on when RT0 has gone. Where RT0 has the CPU at each tick, none
 * finds the task: here its slice is prolonged, and ends when it had a tick's time more.
 */
static inline enum artis_tick_slice artis_slice_behind_rt0(u64 slice_ns, u64 tick_ns, bool last)
{
	u64 apart_ns = tick_ns ? tick_ns : ARTIS_TICK_NS_MAX;

	if (!last)
		return slice_ns <= apart_ns ? ARTIS_TICK_SLICE_PROLONG : ARTIS_TICK_SLICE_KEEP;
	return slice_ns + apart_ns <= artis_slice_prolonged_ns() ? ARTIS_TICK_SLICE_END :
								   ARTIS_TICK_SLICE_KEEP;
}

/*
 * A tick of a CPU that goes offline. Is the slice of its task made endless? The kernel calls
 * neither ops.dispatch() nor ops.enqueue() there any more. When the slice of the last task
 * is over it queues that task and leaves the CPU idle, for as long as nobody wakes it up. If it
 * is the thread that takes the CPU offline, the watchdog ends the scheduler.
 * @unwatched: the CPU is back already.
 */
static inline bool artis_keeps_slice(bool offline, bool unwatched)
{
	return offline && !unwatched;
}

static inline u64 artis_slice_endless_ns(void)
{
	return ARTIS_SLICE_ENDLESS_NS;
}

/* A tick of any other CPU. Is this such a slice? It ends, because the CPU stayed after all. */
static inline bool artis_slice_was_endless(u64 slice_ns)
{
	return slice_ns == ARTIS_SLICE_ENDLESS_NS;
}

/* A tick of an RT CPU. Does its task's slice end? RT0 did not come, or went elsewhere. */
static inline bool artis_tick_ends_slice(enum artis_state state, bool kthread_waits)
{
	return artis_is_leaving(state) || kthread_waits;
}

/* ---- 10. Entering the kernel on an RT CPU ---- */

/* May a task work in the kernel wherever it is? */
static inline bool artis_is_exempt(u32 policy, bool kthread)
{
	return artis_is_rt0(policy) || kthread;
}

/*
 * Does a task that enters the kernel make way for RT0 first? It enters from user mode,
 * so nothing is lost by a short wait. @known: it has a record, so that it leaves
 * when RT0 has gone. A task that runs ahead of a runnable RT0 is not displaced by it.
 */
static inline bool artis_may_let_rt0_by(bool known, bool ahead)
{
	return known && !ahead;
}

/* How it does so. */
enum artis_wait {
	ARTIS_WAIT_DONE,	/* RT0 takes the CPU: no wait */
	ARTIS_WAIT_FOR_RT0,	/* until RT0 has come; if it does not, leave */
	ARTIS_WAIT_FOR_TIMER,	/* interrupts are off: until the timer is due, then leave */
};

static inline enum artis_wait artis_wait(bool rt0_comes, bool interrupts_on)
{
	if (rt0_comes)
		return ARTIS_WAIT_DONE;
	return interrupts_on ? ARTIS_WAIT_FOR_RT0 : ARTIS_WAIT_FOR_TIMER;
}

/*
 * Interrupts are off, and a timer is due for which a thread sleeps: does that thread take the CPU
 * in any case? Then the task leaves when it has gone, and is not asked to before. Of @policy, one
 * that may use @cpus CPUs, and slept on this one (@here). No other CPU may run it then, and no
 * budget holds it back, as it may a deadline task.
 */
static inline bool artis_timer_brings(u32 policy, u32 cpus, bool here)
{
	return here && cpus == 1 && (policy == ARTIS_POLICY_FIFO || policy == ARTIS_POLICY_RR);
}

/*
 * Has the interrupt of a timer that is due at @due come, as soon as interrupts are on? Where all
 * hangs on it (@brings), that is taken for certain a little later only.
 */
static inline bool artis_timer_is_here(u64 due, u64 now_ns, bool brings)
{
	return (s64)(now_ns - due) >= (s64)(brings ? ARTIS_TIMER_COMES_NS : 0);
}

/* Turns of a waiting loop, 5 ns or more each: enough for ARTIS_SWITCH_NS_MAX, and an end. */
static inline u32 artis_wait_turns_max(void)
{
	return ARTIS_SWITCH_NS_MAX / 5;
}

/*
 * RT0 comes before the task has left. Does the task's slice end? With a rest of its slice
 * it would simply go on if another CPU took RT0 away in time (@may_be_taken). Without
 * a rest it makes the kernel ask for the next task, on RT0's way.
 */
static inline bool artis_gives_up_rest(bool may_be_taken)
{
	return may_be_taken;
}

/* Is it a leak that a task which is not exempt works in the kernel on an RT CPU? */
static inline bool artis_is_leak(enum artis_affinity affinity, enum artis_state state)
{
	return !artis_is_bound(affinity) && state != ARTIS_STATE_LEAVES_AFFINITY;
}

/* ---- 11. Long bursts of RT0, and CPUs that go ---- */

/*
 * RT0 has kept the CPU since @displaced_ns: is the task it displaced handed back, to go
 * elsewhere? 0: no task is displaced.
 */
static inline bool artis_hand_back(u64 now_ns, u64 displaced_ns)
{
	return displaced_ns && (s64)(now_ns - displaced_ns) >= (s64)ARTIS_HAND_BACK_NS;
}

/* Without NRT CPUs there is nowhere to send kernel work to: the scheduler ends. */
static inline bool artis_must_end(u32 nrt_cpus)
{
	return !artis_has_sides(nrt_cpus);
}

/* ---- 12. Weights of CPU cgroups ---- */

/*
 * A cgroup competes with its siblings, and with the tasks of its parent. Only those with
 * runnable tasks count, or with such a cgroup below. Multiplied along the path, the
 * shares give a cgroup its flattened weight, on the scale of the tasks of the root: a
 * cgroup of weight 100 there weighs as much as one task of nice 0. Its runnable tasks
 * divide that, so it does not grow with their number.
 *
 * Such a share is one of the whole machine. So both sides have one virtual time then, and
 * a task in user mode that makes way on either side waits in one queue for both: each
 * CPU takes whose deadline is first, an RT CPU from that queue and an NRT CPU from its
 * own, too. While there is no cgroup but the root all this is off.
 */

/*
 * A cgroup in the tree. Its own runnable tasks and the active cgroups one level below it compete
 * for what it has. Weights are on sched_ext's scale.
 */
struct artis_group {
	u32 weight;	/* among its siblings */
	u32 tasks;	/* of its own runnable tasks */
	u32 below;	/* of the active cgroups one level below */
	u32 active;	/* how many those are; own runnable tasks count as one more */
	u32 members;	/* how many compete: those cgroups, and each task */
	u64 mean;	/* of the weight of all that competed, over the last full span */
	u64 sum;	/* of that weight times the ns it was so, in the span that is not over */
	u64 spanned_ns;	/* how long that span is up to now */
	u64 noted_ns;	/* when that was */
};

static inline u32 artis_group_depth_max(void)
{
	return ARTIS_GROUP_DEPTH_MAX;
}

/* Idle cgroups (cpu.idle) get what is the least. */
static inline u32 artis_group_weight(u32 weight, bool idle)
{
	return idle || !weight ? 1 : weight;
}

/* Does the machine share by cgroups? @groups: so many have a weight, be it 100. */
static inline bool artis_is_shared(u32 groups)
{
	return groups;
}

/*
 * RT1+ tasks have their levels. Kernel threads work for all, and so does artis (@own), which
 * would else wait for as long as its cgroup is light.
 */
static inline bool artis_is_grouped(enum artis_class class, bool own)
{
	return class == ARTIS_CLASS_LINUX && !own;
}

/* What a task counts with in its cgroup. */
static inline u32 artis_group_own(u32 weight)
{
	return weight ? weight : 1;
}

/*
 * What competes in the cgroup is about to change, or its mean is needed: the time since the last
 * note counts with the weight of then.
 */
static inline void artis_group_note(struct artis_group *group, u64 now_ns)
{
	u64 all = (u64)group->tasks + group->below;
	s64 passed_ns = now_ns - group->noted_ns;

	/* clocks of two CPUs differ */
	if (passed_ns <= 0)
		return;
	group->noted_ns = now_ns;
	if (passed_ns >= (s64)ARTIS_GROUP_MEAN_NS) {
		group->mean = all;
		group->sum = 0;
		group->spanned_ns = 0;
		return;
	}
	group->sum += all * passed_ns;
	group->spanned_ns += passed_ns;
	if (group->spanned_ns < ARTIS_GROUP_MEAN_NS)
		return;
	group->mean = group->sum / group->spanned_ns;
	group->sum = 0;
	group->spanned_ns = 0;
}

/* The mean of the last span, as far as the span that is not over leaves it. */
static inline u64 artis_group_mean(const struct artis_group *group)
{
	u64 left_ns = ARTIS_GROUP_MEAN_NS - group->spanned_ns;

	return (group->sum + group->mean * left_ns) / ARTIS_GROUP_MEAN_NS;
}

/*
 * The weight of all with whom a competitor of @weight in the cgroup, a task or a cgroup below,
 * divides what that has; it is one of them. Heavier ones count with no more than its own weight
 * until they have been there for a while. A heavy task that runs for a moment would else make all
 * others light for the whole slice that they are placed for in that moment.
 */
static inline u64 artis_group_all(const struct artis_group *group, u32 weight)
{
	u64 all = (u64)group->tasks + group->below;
	u64 alike = (u64)group->members * weight;
	u64 mean = artis_group_mean(group);
	u64 counted = mean > alike ? mean : alike;

	if (counted > all)
		counted = all;
	return counted ? counted : 1;
}

/* A task of @weight joins the runnable ones. True: that makes the cgroup active. */
static inline bool artis_group_join(struct artis_group *group, u32 weight, u64 now_ns)
{
	bool first = !group->tasks;

	artis_group_note(group, now_ns);
	group->tasks += weight;
	group->members++;
	return first && !group->active++;
}

/* True: it was the last one, and the cgroup is not active any more. */
static inline bool artis_group_leave(struct artis_group *group, u32 weight, u64 now_ns)
{
	artis_group_note(group, now_ns);
	group->tasks -= weight;
	group->members--;
	return !group->tasks && !--group->active;
}

/* A cgroup below, of @weight, becomes active. True: so does this one. */
static inline bool artis_group_join_below(struct artis_group *group, u32 weight, u64 now_ns)
{
	artis_group_note(group, now_ns);
	group->below += weight;
	group->members++;
	return !group->active++;
}

static inline bool artis_group_leave_below(struct artis_group *group, u32 weight, u64 now_ns)
{
	artis_group_note(group, now_ns);
	group->below -= weight;
	group->members--;
	return !--group->active;
}

/* The weight of a cgroup changes; @parent: the one above it. */
static inline void artis_group_reweigh(struct artis_group *group, struct artis_group *parent,
				       u32 weight, u64 now_ns)
{
	if (group->active) {
		artis_group_note(parent, now_ns);
		parent->below += weight - group->weight;
	}
	group->weight = weight;
}

/*
 * A task joined or left a cgroup, which may have changed whether it is active: do cgroups
 * have other flattened weights now? Where one has tasks and cgroups below it, each
 * of its tasks counts among those.
 */
static inline bool artis_group_changes(const struct artis_group *group, bool changed)
{
	return changed || group->below;
}

/* Is a flattened weight to be computed again? @changed: the tree has, since @flat_ns. */
static inline bool artis_group_is_stale(bool changed, u64 flat_ns, u64 now_ns)
{
	return changed || (s64)(now_ns - flat_ns) >= (s64)ARTIS_GROUP_FLAT_NS;
}

/* A cgroup as a part of what the one below the root has: first all of it, ... */
static inline u64 artis_group_whole(void)
{
	return ARTIS_GROUP_WHOLE;
}

/* ... then, for each level up to there, the part of the cgroup of @weight there in @parent. */
static inline u64 artis_group_part(u64 part, u32 weight, const struct artis_group *parent)
{
	return part * weight / artis_group_all(parent, weight);
}

/* The last step: @weight is that of the cgroup below the root. Scaled, as artis_weight(). */
static inline u32 artis_group_flat(u64 part, u32 weight)
{
	u64 flat = part * weight / (ARTIS_GROUP_WHOLE / ARTIS_WEIGHT_SCALE);

	return flat ? flat : 1;
}

/* What a task counts with: its part of its cgroup's flattened weight. @weight: sched_ext's. */
static inline u32 artis_share(u32 flat, const struct artis_group *group, u32 weight)
{
	u64 share = (u64)flat * weight / artis_group_all(group, weight);

	return share ? share : 1;
}

/* What a task of a cgroup was when it was placed. */
struct artis_placed {
	u64 vtime;	/* its own */
	u64 mean;	/* of the pool */
	u64 all;	/* the weight of all there */
	u32 weight;	/* its own */
};

/*
 * Where a cgroup of the flattened weight @flat stands in virtual time, that stood at @vtime: on
 * the scale of its tasks, but for what all of them use. One of them, that was @placed, is at
 * @task_vtime now. So it is known whether a cgroup had more than its share of whose tasks none
 * runs for long. It is as far behind the mean, and ahead of it, as one task of its weight may be.
 */
static inline u64 artis_group_vtime(u64 vtime, u32 flat, const struct artis_placed *placed,
				    u64 task_vtime)
{
	u64 earliest = placed->mean - artis_distance(ARTIS_SHARE_CREDIT_NS, flat, placed->all);
	u64 latest = placed->mean + artis_distance(ARTIS_SHARE_DEBT_NS, flat, placed->all);

	if (artis_vtime_before(vtime, earliest))
		vtime = earliest;
	if (artis_vtime_before(latest, vtime))
		vtime = latest;
	return vtime + (task_vtime - placed->vtime) * placed->weight / flat;
}

/* On which side does a task's virtual time count that is queued for, or on, this one? */
static inline bool artis_counts_rt(bool rt_side, bool shared)
{
	return rt_side && !shared;
}

/*
 * A task on an NRT CPU, in user mode: does it go to the queue for both sides? If it makes
 * way (@makes_way), or where artis_promote() sends it because an RT CPU has nothing
 * to do. It waits no longer there than elsewhere.
 */
static inline enum artis_verdict artis_promote_shared(const struct artis_task_view *task,
						      const struct artis_calls *calls,
						      const struct artis_trial *trial, u64 now_ns,
						      bool makes_way, const struct artis_side *rt,
						      const struct artis_side *nrt)
{
	if (task->class != ARTIS_CLASS_LINUX)
		return artis_promote(task, calls, trial, now_ns, 0, rt, nrt);
	if (!rt->cpus || !(makes_way || (artis_rt_hungry(rt) && nrt->tasks > nrt->cpus)))
		return ARTIS_STAY;
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

/* ---- 13. Last-level caches ---- */

/*
 * Where a machine has several, or one in parts (ARTIS_PART_CPUS), each has a queue of Linux
 * tasks for each side. A task waits where it ran, and a CPU takes from its own. Virtual time is of
 * the side, so the deadlines of two queues say which of them waits too long: a CPU takes a
 * task from elsewhere that is owed much more than those here, and anybody before it is idle.
 */

/* Does a CPU serve such a side? Then a task may wait at its cache. */
static inline bool artis_serves(bool rt_cpu, bool offline, bool rt_side)
{
	return rt_cpu == rt_side && !offline;
}

/* Can it be that the first of another cache's queue is taken? First a cheap question. */
static inline bool artis_may_be_far(u64 deadline, u64 ours)
{
	return artis_vtime_before(deadline, ours);
}

/*
 * Does a CPU take a task of another cache's queue, of @weight, before those that wait here?
 * @ours: the deadline of the first of these; @all: the weight of all of the side.
 */
static inline bool artis_takes_far(u64 deadline, u32 weight, u64 all, u64 ours)
{
	return artis_vtime_before(deadline + artis_distance(ARTIS_FAR_NS, weight, all), ours);
}

/* ---- 14. Limits of CPU cgroups ---- */

/*
 * In each period a cgroup with a limit has its quota, for its tasks and those of all
 * cgroups below, and what it saved of earlier ones, up to its burst. What it used beyond
 * that is subtracted from the next periods. A task goes on while every limit above it has
 * something left.
 *
 * A task is stopped where a tick finds it in user mode: in the kernel it may hold a lock
 * that others wait for. So a cgroup uses up to a tick too much for each of its tasks, and
 * pays it back. artis, the process, lets tasks on.
 */
struct artis_limit {
	u64 quota_ns;		/* 0: there is no limit */
	u64 period_ns;
	u64 burst_ns;
	u64 until_ns;		/* the end of the period */
	s64 left_ns;		/* negative: a debt */
	s64 promised_ns;	/* to tasks that were let on in this period */
};

/* Kernel threads work for all. @own: it is one of artis, which lets the others on. */
static inline bool artis_is_limited(enum artis_class class, bool own)
{
	return class != ARTIS_CLASS_KTHREAD && !own;
}

/* A new limit begins with a full quota, so that a raised one holds at once. */
static inline void artis_limit_set(struct artis_limit *limit, u64 period_us, u64 quota_us,
				   u64 burst_us, u64 now_ns)
{
	bool none = !period_us || quota_us / ARTIS_LIMIT_CPUS >= period_us;

	limit->period_ns = period_us * ARTIS_NSEC_PER_USEC;
	limit->quota_ns = none ? 0 : quota_us * ARTIS_NSEC_PER_USEC;
	limit->burst_ns = (burst_us < quota_us ? burst_us : quota_us) * ARTIS_NSEC_PER_USEC;
	limit->until_ns = now_ns + limit->period_ns;
	limit->left_ns = limit->quota_ns;
	limit->promised_ns = 0;
}

static inline bool artis_limit_is_set(const struct artis_limit *limit)
{
	return limit->quota_ns;
}

/*
 * Begins the period of @now_ns, if the last one is over. Returns what is to be added to what is
 * left; others subtract from that meanwhile.
 */
static inline s64 artis_limit_refill(struct artis_limit *limit, u64 now_ns)
{
	s64 most_ns = limit->quota_ns + limit->burst_ns;
	s64 left_ns = limit->left_ns, debt_ns, paid_ns;
	u64 periods;

	if (!limit->quota_ns || !limit->period_ns || (s64)(now_ns - limit->until_ns) < 0)
		return 0;
	periods = (now_ns - limit->until_ns) / limit->period_ns + 1;
	limit->until_ns += periods * limit->period_ns;
	limit->promised_ns = 0;
	debt_ns = limit->quota_ns * (ARTIS_LIMIT_DEBT_NS / limit->period_ns);
	paid_ns = left_ns < -debt_ns ? -debt_ns : left_ns;
	if (periods > (u64)(most_ns - paid_ns) / limit->quota_ns)
		return most_ns - left_ns;
	return paid_ns + periods * limit->quota_ns - left_ns;
}

static inline bool artis_limit_is_out(const struct artis_limit *limit)
{
	return limit->quota_ns && limit->left_ns <= 0;
}

/* May one more task be let on in this period? */
static inline bool artis_limit_has_turn(const struct artis_limit *limit)
{
	return !limit->quota_ns || limit->left_ns > limit->promised_ns;
}

/* One is. */
static inline void artis_limit_promise(struct artis_limit *limit)
{
	limit->promised_ns += ARTIS_LIMIT_TURN_NS;
}

/* Does a task that is queued wait for time of its cgroup, and not for a CPU? */
static inline bool artis_is_stopped(const struct artis_task_view *task)
{
	return task->state == ARTIS_STATE_STOPPED && !task->wakes;
}

/* Is it let on in any case? It has waited for long, or its process ends. */
static inline bool artis_stopped_enough(u64 now_ns, u64 since_ns, bool ends)
{
	return ends || (s64)(now_ns - since_ns) >= (s64)ARTIS_LIMIT_STOP_NS;
}

/* Does nobody let stopped tasks on? @looked_ns: when artis last looked for them; 0: never. */
static inline bool artis_is_neglected(u64 now_ns, u64 looked_ns)
{
	return !looked_ns || (s64)(now_ns - looked_ns) >= (s64)ARTIS_LIMIT_NEGLECTED_NS;
}

/* When artis looks again. @stopped: tasks are. */
static inline u64 artis_limit_look_ns(bool stopped)
{
	return stopped ? ARTIS_LIMIT_LOOK_STOPPED_NS : ARTIS_LIMIT_LOOK_NS;
}

#endif /* ARTIS_POLICY_H */
