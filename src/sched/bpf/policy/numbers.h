/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers. Part of policy.h. */
#ifndef ARTIS_POLICY_NUMBERS_H
#define ARTIS_POLICY_NUMBERS_H

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

/*
 * Nobody waits for longer than that, whatever others weigh and whoever comes first, and for as long
 * again in the worst case: the kernel's watchdog ends the scheduler after 30 s. Looked for so
 * often, and not always beside a tick.
 */
#define ARTIS_OVERDUE_NS (10 * ARTIS_NSEC_PER_SEC)
#define ARTIS_OVERDUE_LOOK_NS (997 * ARTIS_NSEC_PER_MSEC)

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

/* What tasks of a level had more or less than another counts with less than half a level. */
#define ARTIS_RT1_APART_NS (24 * ARTIS_NSEC_PER_MSEC)

/*
 * How much CPU time of its own a task that comes back, or is new, may be behind the mean, or
 * ahead of it. A task that waited long does not keep the CPU for as long.
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
 * A stay on an RT CPU that pays for the moves there and back. A move costs two context switches, an
 * interrupt, and the refill of caches: up to 0.4 ms for 512 KiB that the task wrote, at 3 GHz. So
 * both cost it a tenth at most. It is a slice, so whoever pays has one.
 */
#define ARTIS_STAY_PAYS_NS ARTIS_SLICE_RT_NS

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
 * RT1+ tasks come first, but on each CPU everybody else gets 5 ms after 95 ms of
 * them, if they wait. The kernel bounds its real-time classes to 95 % for the
 * same reason: a real-time task in an endless loop must not take the machine
 * down.
 */
#define ARTIS_RT1_PHASE_NS (95 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_OTHERS_PHASE_NS (5 * ARTIS_NSEC_PER_MSEC)

/*
 * The weight of nice 0, and of a cgroup that nobody gave another one than 100. So large because
 * the tasks of a cgroup divide its weight among them.
 */
#define ARTIS_WEIGHT_SCALE 16
#define ARTIS_WEIGHT_NICE_0 (100 * ARTIS_WEIGHT_SCALE)
/* The kernel's own of nice 0, and of SCHED_IDLE and cpu.idle: kernel/sched/sched.h. */
#define ARTIS_WEIGHT_KERNEL_NICE_0 1024
#define ARTIS_WEIGHT_KERNEL_IDLE 3

/*
 * How many tasks of a queue are passed over at most, and for how long, because RT0
 * needs the run queue of the RT CPU where they were. RT0's wakeup takes less than
 * that, and nobody should wait behind a long burst of RT0.
 */
#define ARTIS_PASSED_OVER_MAX 4
#define ARTIS_PASSED_OVER_NS (1 * ARTIS_NSEC_PER_MSEC)

/* How many tasks of a queue are looked at for the first that may run on a CPU. */
#define ARTIS_LOOKED_AT_MAX 16

/*
 * The same for a task that is runnable all the time. Somewhat more than a slice behind: who
 * cannot use its share does not come first for longer. Several slices ahead, because one that is
 * forgotten is a gift to the lightest tasks, and a hypervisor may make each ten times as long.
 */
#define ARTIS_SHARE_CREDIT_NS (24 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_SHARE_DEBT_NS (96 * ARTIS_NSEC_PER_MSEC)

/* How far in virtual time a CPU serves from the mean. */
#define ARTIS_SERVED_APART_NS (96 * ARTIS_NSEC_PER_MSEC)

/* Where NRT CPUs serve is a mean over 2 to the power of this ns of CPU time, 34 ms: some slices. */
#define ARTIS_SERVED_SHIFT 25

/*
 * How much more of its own CPU time a task of another last-level cache must be owed than
 * those of a CPU's own, so that the CPU takes it from there; or than the task of an RT CPU, so
 * that it goes where that one looks. Several slices, because tasks
 * that take turns differ by one all the time, and a hypervisor may make each longer; less
 * than ARTIS_SHARE_CREDIT_NS, after which what it is owed is forgotten.
 */
#define ARTIS_FAR_NS (8 * ARTIS_SLICE_NRT_NS)

/* The least time between two looks of a CPU for such a task: it may switch every 30 us. */
#define ARTIS_FAR_LOOK_NS (1 * ARTIS_NSEC_PER_MSEC)

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

#endif /* ARTIS_POLICY_NUMBERS_H */
