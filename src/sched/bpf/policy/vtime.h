/* SPDX-License-Identifier: GPL-2.0-only */
/* Virtual time and levels. Part of policy.h. */
#ifndef ARTIS_POLICY_VTIME_H
#define ARTIS_POLICY_VTIME_H

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

/* Virtual time may wrap around: compare two values by their distance. */
static inline bool artis_vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline u64 artis_vtime_later(u64 a, u64 b)
{
	return artis_vtime_before(a, b) ? b : a;
}

/*
 * RT1+ tasks of a level share by what each has had of the CPUs, @had, whatever CPUs it may use.
 * They are compared with the least that one of them had (@low), of late: as one begins to run,
 * @passed_ns after the last one did. Who had least may sleep now, so @low follows the others, which
 * cannot have more than all of a CPU.
 */
static inline u64 artis_rt1_low(u64 low, u64 had, u64 passed_ns)
{
	low += passed_ns;
	return artis_vtime_before(had, low) ? had : low;
}

/* One wakes up: what it did not use is not saved up, and what it had too much is forgotten. */
static inline u64 artis_rt1_wakes(u64 had, u64 low)
{
	if (artis_vtime_before(had, low))
		return low;
	return artis_vtime_before(low + ARTIS_RT1_APART_NS, had) ? low + ARTIS_RT1_APART_NS : had;
}

/* What decides among RT1+ tasks that became runnable at the same time: less than a level. */
static inline u64 artis_rt1_rank(u32 level, u64 had, u64 low)
{
	s64 more = had - low;

	if (more < -(s64)ARTIS_RT1_APART_NS)
		more = -(s64)ARTIS_RT1_APART_NS;
	if (more > (s64)ARTIS_RT1_APART_NS)
		more = ARTIS_RT1_APART_NS;
	return (u64)(level - 1) * ARTIS_RT1_LEVEL_NS + more;
}

/*
 * Place in an RT1+ queue: when it became runnable, plus so much for each level below the first. A
 * higher level comes first unless the lower one has waited that much longer. Without this a busy
 * high level would keep a low one from running for ever, and the kernel's watchdog would end the
 * scheduler for it.
 */
static inline u64 artis_rt1_key(u32 level, u64 had, u64 low, u64 now_ns)
{
	return now_ns + artis_rt1_rank(level, had, low);
}

/*
 * The same of one that runs, compared with those that wait: it does not make way for one that has
 * just begun to, which may be on its way to an RT CPU.
 */
static inline u64 artis_rt1_key_running(u32 level, u64 had, u64 low, u64 now_ns)
{
	return artis_rt1_key(level, had, low, now_ns - ARTIS_PROTECT_NS);
}

/*
 * All runnable tasks. Their mean virtual time, by weight, is where a task stands that got just
 * its share: who is behind it is owed time, who is ahead got too much. (Stoica, Abdel-Wahab:
 * "Earliest Eligible Virtual Deadline First", 1995.)
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

/* How a task comes to the pool. */
enum artis_arrival {
	ARTIS_ARRIVAL_AGAIN,	/* it is runnable all the time */
	ARTIS_ARRIVAL_BACK,	/* it slept, or was changed */
	ARTIS_ARRIVAL_NEW,	/* it is new, or was stopped */
	ARTIS_ARRIVAL_ENTERS,	/* it is runnable all the time, and leaves RT CPUs for the kernel */
};

/* @pooled: it is in the pool; @known: it was there before; @enters: see above. */
static inline enum artis_arrival artis_arrival(bool pooled, bool known, bool enters)
{
	if (pooled)
		return enters ? ARTIS_ARRIVAL_ENTERS : ARTIS_ARRIVAL_AGAIN;
	return known ? ARTIS_ARRIVAL_BACK : ARTIS_ARRIVAL_NEW;
}

/*
 * Has a task that becomes runnable its place in virtual time already? Who @wakes is not in the
 * pool, unless it was placed as the CPU of its waker was tried, a moment ago.
 */
static inline bool artis_is_placed(bool wakes, bool pooled)
{
	return wakes && pooled;
}

/* A task that joins the pool. */
struct artis_joining {
	u64 mean;		/* virtual time of the pool: artis_pool_arrive() */
	u64 all;		/* weight of all, the task included: the same */
	u64 served;		/* where NRT CPUs serve: artis_served() */
	bool by_served;		/* ... and it is compared with that: artis_is_by_served() */
	u64 here;		/* where its CPU serves: artis_served_here(); 0: unknown */
	bool confined;		/* ... and it may not use all */
	u64 group_vtime;	/* where its cgroup stands: artis_group_vtime() */
	bool grouped;		/* ... if it is in one */
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

/* Is it runnable all the time? */
static inline bool artis_is_again(enum artis_arrival arrival)
{
	return arrival == ARTIS_ARRIVAL_AGAIN || arrival == ARTIS_ARRIVAL_ENTERS;
}

/* How much of its own CPU time a task may be behind its level. */
static inline u64 artis_credit_ns(enum artis_arrival arrival)
{
	return artis_is_again(arrival) ? ARTIS_SHARE_CREDIT_NS : ARTIS_CREDIT_NS;
}

/*
 * Where in virtual time NRT CPUs serve: a mean of late. One more, at @vtime now, had @ran_ns. By
 * time, because who sends messages begins to run a hundred times as often as others.
 */
static inline u64 artis_served(u64 served, u64 vtime, u64 ran_ns)
{
	u64 most = 1ULL << ARTIS_SERVED_SHIFT;
	s64 far = vtime - served;

	/* in steps of 2^-10, and of 1024 ns: the product fits */
	return served + (far >> 10) * (s64)((ran_ns < most ? ran_ns : most) >> 10) /
			(s64)(most >> 20);
}

/*
 * The same of one CPU, since it was idle. Tasks that may use some CPUs only are compared with those
 * that are served there. Others may be far ahead of all of these for ever, and what is forgotten of
 * a heavy one's claim and of a light one's is not the same.
 */
static inline u64 artis_served_here(u64 served, u64 vtime, u64 ran_ns)
{
	served = served ? artis_served(served, vtime, ran_ns) : vtime;
	/* 0 is taken for "unknown" */
	return served ? served : 1;
}

/*
 * A CPU may serve ever further behind @level, that of those who may use all CPUs, or ahead of the
 * mean. But whoever else comes there would then wait for as long, or keep those waiting that are
 * there. So no further than this: by how much is all that it serves to be moved, so that it keeps
 * its order?
 */
static inline u64 artis_served_slide(u64 here, u64 level, u64 mean)
{
	if (artis_vtime_before(here, level - ARTIS_SERVED_APART_NS))
		return level - ARTIS_SERVED_APART_NS - here;
	if (artis_vtime_before(mean + ARTIS_SERVED_APART_NS, here))
		return mean + ARTIS_SERVED_APART_NS - here;
	return 0;
}

/* Of two CPUs that a task may use: is it the other one that serves it? Who is further ahead. */
static inline bool artis_serves_rather(u64 here, u64 other)
{
	return !here || (other && artis_vtime_before(here, other));
}

/*
 * The mean is that of both sides, and those that only NRT CPUs can serve may be behind it for
 * ever: together they are owed more than those CPUs have. So a task there is compared with those
 * that are served there; if an NRT CPU is idle (@idle of them are), nobody is behind.
 */
static inline bool artis_is_by_served(bool rt_side, u32 idle)
{
	return !rt_side && !idle;
}

/* What one that may use all CPUs is compared with. */
static inline u64 artis_level_of_all(const struct artis_joining *at)
{
	return at->by_served && artis_vtime_before(at->served, at->mean) ? at->served : at->mean;
}

/* What a task that arrives is compared with, and is owed by. */
static inline u64 artis_level(const struct artis_joining *at)
{
	return at->confined && at->here ? at->here : artis_level_of_all(at);
}

/* How far its cgroup is ahead of those whom the task is compared with. */
static inline u64 artis_lead(const struct artis_joining *at)
{
	u64 level = artis_level(at);

	return at->grouped && artis_vtime_before(level, at->group_vtime) ? at->group_vtime - level :
									   0;
}

/*
 * How far ahead of its level a task that arrives may be. One that slept keeps little of what it
 * had too much, because its cgroup remembers that. Else two that wake up each other, and had more
 * than the others of their cgroup for a while, would wait for many slices at each message.
 */
static inline u64 artis_debt(const struct artis_joining *at, enum artis_arrival arrival)
{
	u64 most = artis_distance(ARTIS_SHARE_DEBT_NS, at->weight, at->all);
	u64 debt;

	if (arrival != ARTIS_ARRIVAL_BACK && arrival != ARTIS_ARRIVAL_ENTERS)
		return most;
	debt = artis_lead(at) + artis_distance(ARTIS_DEBT_NS, at->weight, at->all);
	return debt < most ? debt : most;
}

/*
 * Where a task that arrives stands in virtual time. @vtime: where it stood; @lag: how far
 * behind its level that was when it left, negative: ahead. It keeps what it is owed. What it got
 * too much is forgotten as the others pass it. A new one of a cgroup that is ahead begins as far
 * ahead, or short commands would get more than their share.
 */
static inline u64 artis_vtime_place(const struct artis_joining *at, enum artis_arrival arrival,
				    u64 vtime, s64 lag)
{
	u64 level = artis_level(at);
	u64 credit_ns = artis_credit_ns(arrival);
	bool again = arrival == ARTIS_ARRIVAL_AGAIN;
	u64 earliest = level - artis_distance(credit_ns, at->weight, at->all);
	u64 latest = (again && at->here ? artis_vtime_later(level, at->here) : level) +
		     artis_debt(at, arrival);

	switch (arrival) {
	case ARTIS_ARRIVAL_AGAIN:
	case ARTIS_ARRIVAL_ENTERS:
		break;
	case ARTIS_ARRIVAL_BACK:
		vtime = artis_vtime_later(vtime, lag > 0 ? level - lag : level);
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

	if (artis_is_again(arrival)) {
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
	u64 ahead = artis_distance(ARTIS_AHEAD_NS, at->weight, at->all);

	return !artis_vtime_before(artis_level(at) + ahead, vtime);
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
static inline u64 artis_request(u64 usual_ns, u64 ran_ns)
{
	u64 slice_ns = artis_slice_ns(false);

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

#endif /* ARTIS_POLICY_VTIME_H */
