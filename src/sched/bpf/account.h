/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task used and did: added to its record and given to the policy.
 *
 * Not when it stops, because that is on RT0's way. The kernel knows how long each
 * task ran; artis reads that when it touches the task again.
 */
#ifndef ARTIS_ACCOUNT_H
#define ARTIS_ACCOUNT_H

#include "group.h"
#include "limit.h"

/* The side on which virtual time counts of a task that is queued for a side, or runs there. */
static u32 side_of(bool rt)
{
	return artis_counts_rt(rt, is_shared()) ? SIDE_RT : SIDE_NRT;
}

/*
 * Adds @more to the virtual time of the task and of its pool. @leaves: the task is
 * runnable no more, or not on its side.
 */
static void advance(struct task_ctx *t, u64 more, bool leaves)
{
	u32 weight = t->pooled_weight;
	struct pool *pool;

	t->vtime += more;
	if (!weight)
		return;
	pool = pool_of(t->side);
	if (!pool)
		return;
	if (leaves)
		t->pooled_weight = 0;
	bpf_spin_lock(&pool->lock);
	artis_pool_charge(&pool->tasks, more, weight);
	if (leaves) {
		t->lag = artis_pool_vtime(&pool->tasks) - t->vtime;
		artis_pool_leave(&pool->tasks, t->vtime, weight);
	}
	bpf_spin_unlock(&pool->lock);
	if (leaves && is_shared() && artis_is_by_served(false, nr_idle_nrt))
		t->lag = served_vtime - t->vtime;
}

/*
 * The task joins the pool of its side, see artis_arrival(), with its place in virtual time
 * there and a deadline. Global: verified once, and not for both that call it.
 */
__noinline int join(struct task_ctx *t __arg_nonnull, struct artis_joining *at __arg_nonnull,
		    enum artis_arrival arrival, u64 request_ns)
{
	struct pool *pool = pool_of(t->side);

	if (!pool)
		return 0;
	t->pooled_weight = at->weight;
	bpf_spin_lock(&pool->lock);
	t->vtime = artis_pool_arrive(&pool->tasks, at, arrival, t->vtime, t->lag);
	bpf_spin_unlock(&pool->lock);
	t->deadline = artis_deadline(at, arrival, t->deadline, t->vtime, request_ns);
	t->owed = artis_is_owed(t->vtime, at);
	return 0;
}

/* See place(), where tasks share by their CPU cgroups. Global: verified once. */
__noinline int place_shared(const struct task_struct *p __arg_trusted,
			    struct task_ctx *t __arg_nonnull, bool rt)
{
	enum artis_arrival arrival =
		artis_arrival_shared(t->pooled_weight, t->side == SIDE_NRT, t->enters);
	struct artis_joining at = {
		.weight = artis_weight(p->scx.weight),
		.shared = true,
		.served = served_vtime,
		.by_served = artis_is_by_served(rt, nr_idle_nrt),
		.spread = has_llcs(),
	};

	was_shared = true;
	t->enters = false;
	advance(t, 0, true);
	if (t->group && artis_is_grouped(class_of(p), is_own(p)))
		at.weight = join_group(t, artis_group_own(p->scx.weight));
	at.grouped = t->grouped;
	at.group_vtime = t->group_vtime;
	t->side = SIDE_NRT;
	join(t, &at, arrival, artis_request(t->usual_ns, t->burst_ns, false));
	if (nr_idle_nrt)
		served_vtime = at.mean;
	/* one by one: a struct would first be on the stack, of which 6.18 has little left */
	t->placed.vtime = t->vtime;
	t->placed.mean = at.mean;
	t->placed.all = at.all;
	t->placed.weight = at.weight;
	return 0;
}

/* The same where they do not. Global: verified once. */
__noinline int place_on_side(const struct task_struct *p __arg_trusted,
			     struct task_ctx *t __arg_nonnull, bool rt)
{
	u32 side = rt ? SIDE_RT : SIDE_NRT;
	enum artis_arrival arrival = artis_arrival(t->pooled_weight, t->side == side);
	u64 request_ns = artis_request(t->usual_ns, t->burst_ns, rt);
	struct artis_joining at = {
		.weight = artis_weight(p->scx.weight),
		.spread = has_llcs(),
	};

	if (t->grouped)
		leave_group(t);
	advance(t, 0, true);
	t->side = side;
	join(t, &at, arrival, request_ns);
	return 0;
}

/*
 * The task is runnable on the side that @rt says: gives it its place in the virtual time
 * there, and a deadline. Inline: the stack of 6.18 has no room for one more on it.
 */
static __always_inline void place(const struct task_struct *p, struct task_ctx *t, bool rt)
{
	if (is_shared())
		place_shared(p, t, rt);
	else
		place_on_side(p, t, rt);
}

/*
 * Charges the task for the time it ran on @cpu since the last charge. @total_ns: all that it ran.
 * @leaves: see advance(). Global: verified once.
 */
__noinline int charge(s32 cpu, const struct task_struct *p __arg_trusted,
		      struct task_ctx *t __arg_nonnull, u64 total_ns, bool leaves)
{
	struct artis_cpu *record = cpu_record(cpu);
	u64 more_ns = total_ns - t->charged_ns;

	t->charged_ns = total_ns;
	t->burst_ns += more_ns;
	if (limited_groups && is_limited(p, t))
		charge_limits(t->group, more_ns);
	advance(t,
		artis_vtime_charge(more_ns, artis_weight_charged(t->pooled_weight, p->scx.weight)),
		leaves);
	artis_calls_note(&t->calls, more_ns, record->calls);
	record->calls = 0;
	if (!record->rt) {
		if (t->grouped)
			served_vtime = artis_served(served_vtime, t->vtime, more_ns);
		return 0;
	}
	record->ran_ns[class_of(p) % ARTIS_CLASSES] += more_ns;
	t->stayed_ns += more_ns;
	return 0;
}

/* The task runs on the CPU of @record from now on, as far as others compare themselves with it. */
static void note_running(struct artis_cpu *record, const struct task_ctx *t, u64 now)
{
	record->running.deadline = t->deadline;
	record->running.vtime = t->vtime;
	record->running.since_ns = now;
	record->running.burst_ns = t->burst_ns;
	record->running.weight = t->pooled_weight;
}

/* The task sleeps. */
static void end_burst(struct task_ctx *t)
{
	t->usual_ns = artis_usual_burst(t->usual_ns, t->burst_ns);
	t->burst_ns = 0;
}

#endif /* ARTIS_ACCOUNT_H */
