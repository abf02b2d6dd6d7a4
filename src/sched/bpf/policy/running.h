/* SPDX-License-Identifier: GPL-2.0-only */
/* The task that runs: who takes over from it, and how long its slice is. Part of policy.h. */
#ifndef ARTIS_POLICY_RUNNING_H
#define ARTIS_POLICY_RUNNING_H

/* A Linux task that runs. */
struct artis_running {
	u64 deadline;
	u64 vtime;		/* when it began to run */
	u64 since_ns;
	u64 burst_ns;		/* it had run before that since it woke up */
	u32 weight;
};

/* The time from @since_ns to @now_ns, where clocks of two CPUs differ. */
static inline u64 artis_passed_ns(u64 now_ns, u64 since_ns)
{
	return artis_vtime_before(now_ns, since_ns) ? 0 : now_ns - since_ns;
}

/* How long a task has run in one piece. */
static inline u64 artis_ran_ns(const struct artis_running *running, u64 now_ns)
{
	return artis_passed_ns(now_ns, running->since_ns);
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

/* Where it is in virtual time by now. */
static inline u64 artis_running_vtime(const struct artis_running *running, u64 now_ns)
{
	return running->vtime +
	       artis_vtime_charge(artis_ran_ns(running, now_ns), running->weight);
}

/*
 * Does a Linux task that waits, with @deadline, take the CPU of the one that runs? Who runs beyond
 * its deadline asks for a slice more.
 */
static inline bool artis_takes_over(u64 deadline, const struct artis_running *running, u64 now_ns,
				    bool interrupt)
{
	u64 vtime = artis_running_vtime(running, now_ns);
	u64 theirs = running->deadline;

	if (artis_is_protected(running, now_ns, interrupt))
		return false;
	if (!artis_vtime_before(vtime, theirs))
		theirs = vtime + artis_vtime_charge(ARTIS_SLICE_NRT_NS, running->weight);
	return !artis_vtime_before(theirs, deadline);
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

#endif /* ARTIS_POLICY_RUNNING_H */
