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

/* Where the CPU serves that serves the task. */
static u64 served_here(const struct task_ctx *t)
{
	return cpu_record(t->served_on)->served;
}

static void serve_on(struct task_ctx *t, s32 cpu)
{
	t->served_on = cpu;
	t->slid = cpu_record(cpu)->slid;
}

/* The task is new, or the CPUs that it may use are others. */
static void confine(struct task_ctx *t, const struct task_struct *p)
{
	t->confined = (u32)p->nr_cpus_allowed != nr_cpus;
	serve_on(t, cpu_of(p));
}

/* By how much the task is to move with the others that its CPU serves. */
static u64 follow(struct task_ctx *t)
{
	u64 by = cpu_record(t->served_on)->slid - t->slid;

	t->slid += by;
	return by;
}

/* All that the CPU of @record serves moves. */
static void slide(struct artis_cpu *record, u64 by)
{
	record->served += by;
	record->slid += by;
}

/*
 * Adds @more to the virtual time of the task and of the pool. @leaves: the task is runnable no
 * more.
 */
static void advance(struct task_ctx *t, u64 more, bool leaves)
{
	struct artis_joining at = {
		.served = served_vtime,
		.by_served = artis_is_by_served(false, nr_idle_nrt),
		.here = served_here(t),
		.confined = t->confined,
	};
	u32 weight = t->pooled_weight;
	struct pool *pool;

	t->vtime += more;
	if (!weight)
		return;
	pool = the_pool();
	if (!pool)
		return;
	if (leaves)
		t->pooled_weight = 0;
	bpf_spin_lock(&pool->lock);
	artis_pool_charge(&pool->tasks, more, weight);
	if (leaves) {
		at.mean = artis_pool_vtime(&pool->tasks);
		artis_pool_leave(&pool->tasks, t->vtime, weight);
	}
	bpf_spin_unlock(&pool->lock);
	if (leaves)
		t->lag = artis_level(&at) - t->vtime;
}

/*
 * The task joins the pool, see artis_arrival(), with its place in virtual time and a deadline.
 * Global: verified once, and not for all that call it.
 */
__noinline int join(struct task_ctx *t __arg_nonnull, struct artis_joining *at __arg_nonnull,
		    enum artis_arrival arrival, u64 request_ns)
{
	struct pool *pool = the_pool();

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

/*
 * The task is runnable on the side that @rt says: gives it its place in virtual time, and a
 * deadline. Global: verified once.
 */
__noinline int place(const struct task_struct *p __arg_trusted,
		     struct task_ctx *t __arg_nonnull, bool rt)
{
	enum artis_arrival arrival = artis_arrival(t->pooled_weight, t->known, t->enters);
	struct artis_joining at = {
		.weight = weight_of(p),
		.served = served_vtime,
		.by_served = artis_is_by_served(rt, nr_idle_nrt),
	};

	t->enters = false;
	if (t->served_on != cpu_of(p) &&
	    (!t->confined ||
	     artis_serves_rather(served_here(t), cpu_record(cpu_of(p))->served)))
		serve_on(t, cpu_of(p));
	at.here = served_here(t);
	at.confined = t->confined;
	advance(t, 0, true);
	t->vtime += follow(t);
	if (t->group && artis_is_grouped(class_of(p), is_own(p)))
		at.weight = join_group(t, at.weight);
	at.grouped = t->grouped;
	at.group_vtime = t->group_vtime;
	t->known = true;
	join(t, &at, arrival, artis_request(t->usual_ns, t->burst_ns));
	if (nr_idle_nrt)
		served_vtime = at.mean;
	if (at.here)
		slide(cpu_record(t->served_on),
		      artis_served_slide(at.here, artis_level_of_all(&at), at.mean));
	/* one by one: a struct would first be on the stack, of which 6.18 has little left */
	t->placed.vtime = t->vtime;
	t->placed.level = artis_level(&at);
	t->placed.all = at.all;
	t->placed.weight = at.weight;
	return 0;
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
	advance(t, artis_vtime_charge(more_ns, t->pooled_weight ? t->pooled_weight : weight_of(p)),
		leaves);
	t->rt1_had += more_ns;
	if (artis_is_grouped(class_of(p), is_own(p))) {
		record->served = artis_served_here(record->served, t->vtime, more_ns);
		if (!record->rt)
			served_vtime = artis_served(served_vtime, t->vtime, more_ns);
	}
	artis_calls_note(&t->calls, more_ns, record->calls);
	record->calls = 0;
	if (!record->rt)
		return 0;
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
