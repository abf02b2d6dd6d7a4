/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy of ARTiS: every rule and every number, as pure functions.
 *
 * Compiled into the BPF program, into its native unit tests and into whatever
 * else must decide as the scheduler does. Nothing here reads the machine: the
 * caller measures, this file decides. The user includes the integer types
 * (u32, u64, s64, bool) first.
 *
 * Theory: Piel, Marquet, Soula, Dekeyser, "Real-Time Systems for
 * Multi-Processor Architectures", section 2.
 */
#ifndef ARTIS_POLICY_H
#define ARTIS_POLICY_H

#define ARTIS_NSEC_PER_USEC 1000ULL
#define ARTIS_NSEC_PER_MSEC 1000000ULL

/*
 * Slice of a task on an NRT CPU. It expires at a tick, and with HZ=250 ticks
 * are 4 ms apart: 3 ms means "the next tick", with HZ=1000 three of them.
 */
#define ARTIS_SLICE_NRT_NS (3 * ARTIS_NSEC_PER_MSEC)

/*
 * Slice of a task on an RT CPU. Longer, because each switch there may sit in
 * RT0's way, yet short enough that four waiting tasks each run within 50 ms.
 */
#define ARTIS_SLICE_RT_NS (8 * ARTIS_NSEC_PER_MSEC)

/*
 * What a slice that is over, or is to be, counts while RT0 takes the CPU: not
 * nothing, because then the kernel would queue the task anew before it switched,
 * on RT0's way. When RT0 has gone the task comes back, and its slice ends.
 */
#define ARTIS_SLICE_PUT_OFF_NS 1ULL

/*
 * A switch of tasks on an RT CPU holds interrupts off, and RT0's timer out. So
 * none begins when a timer is due before it would be done: see artis_switch_note().
 * The longest that counts as one; what takes longer was not ours, but a host's.
 */
#define ARTIS_SWITCH_NS_MAX (250 * ARTIS_NSEC_PER_USEC)

/*
 * A kernel thread's turn on an RT CPU, which begins with a switch and ends with
 * one: none begins when a timer is due before it would be done. At 100 million
 * instructions a second the kernel's own works take 160 us.
 */
#define ARTIS_KTHREAD_TURN_NS (300 * ARTIS_NSEC_PER_USEC)

/* How a task asks to be RT1+: SCHED_EXT of include/uapi/linux/sched.h. */
#define ARTIS_POLICY_RT1 7

/* RT1+ levels: 1 is the highest, 40 the lowest (nice -20 to 19). */
#define ARTIS_RT1_LEVEL_MAX 40

/*
 * What one level is worth in waiting time. The lowest waits 2 s at most behind
 * the highest, far below the 30 s after which the kernel's watchdog ends the
 * scheduler; and one level is several slices, so that it decides among tasks
 * that are runnable together.
 */
#define ARTIS_RT1_LEVEL_NS (50 * ARTIS_NSEC_PER_MSEC)

/*
 * How far a task's virtual time may run ahead, in slices. A task cannot be
 * stopped in the middle of something, and a hypervisor may stop the CPU under
 * it: what it got too much is to be paid back, but not for seconds.
 */
#define ARTIS_DEBT_SLICES 4

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
 * After a stay on an RT CPU that did not pay, the task is not tried again for a
 * while, and for twice as long after each further one. The longest pause is how
 * late a task that has stopped calling is noticed; RT1+ has a right to be noticed
 * sooner. At the longest, moves in vain cost a task 1/2500 of its time.
 */
#define ARTIS_PAUSE_NS_MIN (8 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_PAUSE_NS_MAX (512 * ARTIS_NSEC_PER_MSEC)
#define ARTIS_PAUSE_RT1_NS_MAX (64 * ARTIS_NSEC_PER_MSEC)

/*
 * RT0 has had the CPU this long: the task it displaced is handed back, so that
 * an NRT CPU may run it. Shorter bursts are cheaper to wait out than to move
 * the task twice, and the hand-back stays off RT0's wakeup path.
 */
#define ARTIS_HAND_BACK_NS (2 * ARTIS_NSEC_PER_MSEC)

/*
 * A task that waited this long for an RT CPU may be taken by an NRT CPU:
 * about two full slices of an RT CPU that RT0 leaves alone.
 */
#define ARTIS_RT_WAIT_MAX_NS (20 * ARTIS_NSEC_PER_MSEC)

/*
 * How often an NRT CPU that switches tasks looks for such a one, at most. It may
 * switch every 30 us, and a look costs it a hundredth of that.
 */
#define ARTIS_RT_WAIT_LOOK_NS (1 * ARTIS_NSEC_PER_MSEC)

/*
 * Tasks that may wait for each RT CPU. One bridges the time from an eviction
 * to the next promotion, which takes up to a tick; more only wait.
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

/* sched_ext's scale for the load of nice 0, and PELT's for "all of a CPU". */
#define ARTIS_WEIGHT_NICE_0 100
#define ARTIS_CAPACITY 1024

/*
 * Weight of a CPU that RT tasks take completely. It bounds the division; at
 * 1/32 left nobody would choose that CPU anyhow.
 */
#define ARTIS_CAPACITY_LEFT_MIN (ARTIS_CAPACITY / 32)

/* What a task is to the scheduler. RT0 tasks are in a class above and never seen. */
enum artis_class {
	ARTIS_CLASS_LINUX,
	ARTIS_CLASS_RT1,
	ARTIS_CLASS_KTHREAD,
	ARTIS_CLASSES,
};

/* Why a task stays on the NRT side or leaves it. */
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

/* Whose turn it is on a CPU, between RT1+ tasks and everybody else. */
struct artis_turn {
	u64 rt1_since_ns;	/* RT1+ tasks have come first since then */
	u64 others_until_ns;	/* the others come first until then */
};

/* How busy one side (RT or NRT) is. */
struct artis_side {
	u32 cpus;		/* online CPUs of the side */
	u32 tasks;		/* runnable tasks of sched_ext there, running ones included */
	u32 rt1_tasks;		/* RT1+ tasks among them; for the RT side */
	u32 rt_util;		/* mean share RT0 tasks take of these CPUs, of ARTIS_CAPACITY */
};

/* The kernel's other normal policies are Linux tasks. */
static inline enum artis_class artis_classify(u32 policy, bool kthread)
{
	if (kthread)
		return ARTIS_CLASS_KTHREAD;
	return policy == ARTIS_POLICY_RT1 ? ARTIS_CLASS_RT1 : ARTIS_CLASS_LINUX;
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

/* Virtual time is a number that may wrap: compare it by its distance. */
static inline bool artis_vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Virtual time for @ran_ns at @weight (sched_ext's: 100 is nice 0). */
static inline u64 artis_vtime_charge(u64 ran_ns, u32 weight)
{
	return ran_ns * ARTIS_WEIGHT_NICE_0 / (weight ? weight : 1);
}

/*
 * Where a task that becomes runnable stands in its side's virtual time. One
 * that slept is at most a slice behind, one that got too much at most
 * ARTIS_DEBT_SLICES ahead. One that comes from the other side starts level:
 * what it got there was not this side's to give, and neither a credit nor a
 * debt from there means anything here.
 */
static inline u64 artis_vtime_place(u64 vtime, u64 side_now, u64 slice_ns, u32 weight,
				    bool crossed)
{
	u64 earliest = side_now - slice_ns;
	u64 latest = side_now + artis_vtime_charge(ARTIS_DEBT_SLICES * slice_ns, weight);

	if (crossed)
		return side_now;
	if (artis_vtime_before(vtime, earliest))
		return earliest;
	if (artis_vtime_before(latest, vtime))
		return latest;
	return vtime;
}

/*
 * The task ran for @ran_ns and called the kernel @entries times meanwhile. When
 * exactly is not known, and need not be: the answer is asked for at ticks only.
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
 * will call the kernel again. Before the mean interval is over, what is left
 * of it. After it the task has changed its habit, and the best guess is that
 * it goes on for as long as it already did.
 */
static inline u64 artis_next_entry_ns(const struct artis_calls *calls)
{
	if (calls->since_ns < calls->interval_ns / 2)
		return calls->interval_ns - calls->since_ns;
	return calls->since_ns;
}

/* There and back again must pay for itself. */
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
 * the side, in 1/ARTIS_CAPACITY tasks: with half of each CPU taken by RT tasks
 * the same queue counts twice.
 */
static inline u64 artis_weighted_load(const struct artis_side *side, u32 more)
{
	u64 left = side->rt_util < ARTIS_CAPACITY ? ARTIS_CAPACITY - side->rt_util : 0;

	if (left < ARTIS_CAPACITY_LEFT_MIN)
		left = ARTIS_CAPACITY_LEFT_MIN;
	if (!side->cpus)
		return ~0ULL;
	return (u64)(side->tasks + more) * ARTIS_CAPACITY * ARTIS_CAPACITY / left / side->cpus;
}

/*
 * Does the side have room? An RT CPU that nobody uses always has: its time is
 * otherwise lost. Up to ARTIS_RT_QUEUE_MAX may wait for each besides the one
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
 * How often to look at a task on an NRT CPU. RT1+ tasks at every tick: the RT
 * CPUs have the latency they ask for. A Linux task when its slice is over, or
 * when an RT CPU has nothing to do or nothing in reserve.
 */
static inline bool artis_look(enum artis_class class, bool slice_over, const struct artis_side *rt)
{
	return class == ARTIS_CLASS_RT1 || slice_over || rt->tasks < 2 * rt->cpus;
}

/*
 * A task at the user boundary, on an NRT CPU: is it to go to an RT CPU?
 * @nrt counts the task itself.
 */
static inline enum artis_verdict artis_promote(enum artis_class class,
					       const struct artis_calls *calls,
					       const struct artis_trial *trial, u64 now_ns,
					       const struct artis_side *rt,
					       const struct artis_side *nrt)
{
	if (class == ARTIS_CLASS_KTHREAD || !rt->cpus)
		return ARTIS_STAY;
	if (class == ARTIS_CLASS_RT1) {
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
		if (!artis_rt_hungry(rt) &&
		    (artis_rt_full(rt) ||
		     artis_weighted_load(rt, 1) > artis_weighted_load(nrt, 0)))
			return ARTIS_STAY;
	}
	if (!artis_may_try(trial, now_ns) || !artis_pays_to_move(calls))
		return ARTIS_REFUSE_ESTIMATE;
	return ARTIS_PROMOTE;
}

/*
 * A task at the user boundary whose slice on an RT CPU is over: does it stay
 * on the RT side? Association rule, RT to NRT: Linux tasks go first. @rt
 * counts the task itself.
 */
static inline bool artis_stays_rt(enum artis_class class, const struct artis_side *rt,
				  const struct artis_side *nrt)
{
	if (class == ARTIS_CLASS_RT1)
		return true;
	if (rt->tasks <= rt->cpus)
		return true;
	return artis_weighted_load(rt, 0) <= artis_weighted_load(nrt, 1);
}

/* No RT1+ task waits: the next one has its whole phase before it. */
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

/* Has RT0 kept the CPU for so long that the task it displaced goes elsewhere? */
static inline bool artis_hand_back(u64 now_ns, u64 displaced_ns)
{
	return displaced_ns && (s64)(now_ns - displaced_ns) >= (s64)ARTIS_HAND_BACK_NS;
}

/*
 * Will a timer that is due at @due_ns find what begins now and takes @takes_ns? One
 * that is due already waits for interrupts to be on, and will, too: for no longer
 * than a switch may take, or it is over, or was another one.
 */
static inline bool artis_finds(u64 due_ns, u64 now_ns, u64 takes_ns)
{
	return due_ns + ARTIS_SWITCH_NS_MAX - now_ns < takes_ns + ARTIS_SWITCH_NS_MAX;
}

/*
 * A switch took @took_ns to where the next task is chosen and told. @switch_ns:
 * what the next one may take, to its end, by the longest of late: a quarter more,
 * and forgotten by half in 2,800 switches. The longest wait for the run queue of
 * another CPU and are few: sooner forgotten, the next of them would meet RT0.
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
 * How many tasks of a queue are passed over, at most, because the run queue of the
 * RT CPU where they were is better left alone, and for how long: RT0's wakeup is
 * over long before, and behind a long burst of it nobody is to wait.
 */
#define ARTIS_PASSED_OVER_MAX 4
#define ARTIS_PASSED_OVER_NS (1 * ARTIS_NSEC_PER_MSEC)

/* May a task be passed over that is runnable since @runnable_at_ns? */
static inline bool artis_may_pass_over(u64 now_ns, u64 runnable_at_ns)
{
	return (s64)(now_ns - runnable_at_ns) < (s64)ARTIS_PASSED_OVER_NS;
}

/* Has a task waited for an RT CPU for so long that an NRT CPU takes it? */
static inline bool artis_waited_for_rt(u64 now_ns, u64 since_ns)
{
	return (s64)(now_ns - since_ns) > (s64)ARTIS_RT_WAIT_MAX_NS;
}

/* Does an NRT CPU look for one now? @looked_ns: when it last did; 0: look. */
static inline bool artis_look_for_waiting(u64 *looked_ns, u64 now_ns)
{
	if (*looked_ns && (s64)(now_ns - *looked_ns) < (s64)ARTIS_RT_WAIT_LOOK_NS)
		return false;
	*looked_ns = now_ns;
	return true;
}

#endif /* ARTIS_POLICY_H */
