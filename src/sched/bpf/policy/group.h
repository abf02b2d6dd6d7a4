/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights of CPU cgroups. Part of policy.h. */
#ifndef ARTIS_POLICY_GROUP_H
#define ARTIS_POLICY_GROUP_H

/*
 * A cgroup competes with its siblings, and with the tasks of its parent. Only those with
 * runnable tasks count, or with such a cgroup below. Multiplied along the path, the
 * shares give a cgroup its flattened weight, on the scale of the tasks of the root: a
 * cgroup of weight 100 there weighs as much as one task of nice 0. Its runnable tasks
 * divide that, so it does not grow with their number.
 *
 * Such a share is one of the whole machine. So both sides have one virtual time, and a task in
 * user mode that makes way on either side waits in one queue for both: each CPU takes whose
 * deadline is first, an RT CPU from that queue and an NRT CPU from its own, too. Tasks of the root
 * compete as they are.
 */

/*
 * A cgroup in the tree. Its own runnable tasks and the active cgroups one level below it compete
 * for what it has. Weights are scaled as artis_task_weight() is.
 */
struct artis_group {
	u32 weight;	/* among its siblings */
	u64 tasks;	/* of its own runnable tasks */
	u64 below;	/* of the active cgroups one level below */
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

/* @weight: cpu.weight. An idle cgroup (cpu.idle) weighs as a task of SCHED_IDLE. */
static inline u32 artis_group_weight(u32 weight, bool idle)
{
	if (idle)
		return artis_task_weight(ARTIS_POLICY_IDLE, 0);
	return (weight ? weight : 1) * ARTIS_WEIGHT_SCALE;
}

/*
 * RT1+ tasks have their levels. Kernel threads work for all, and so does artis (@own), which
 * would else wait for as long as its cgroup is light.
 */
static inline bool artis_is_grouped(enum artis_class class, bool own)
{
	return class == ARTIS_CLASS_LINUX && !own;
}

/*
 * What competes in the cgroup is about to change, or its mean is needed: the time since the last
 * note counts with the weight of then.
 */
static inline void artis_group_note(struct artis_group *group, u64 now_ns)
{
	u64 all = group->tasks + group->below;
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
	u64 all = group->tasks + group->below;
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

/* The last step: @weight is that of the cgroup below the root. */
static inline u32 artis_group_flat(u64 part, u32 weight)
{
	u64 flat = part * weight / ARTIS_GROUP_WHOLE;

	return flat ? flat : 1;
}

/* What a task of @weight counts with: its part of its cgroup's flattened weight. */
static inline u32 artis_share(u32 flat, const struct artis_group *group, u32 weight)
{
	u64 share = (u64)flat * weight / artis_group_all(group, weight);

	return share ? share : 1;
}

/* What a task of a cgroup was when it was placed. */
struct artis_placed {
	u64 vtime;	/* its own */
	u64 level;	/* of those whom it is compared with: artis_level() */
	u64 all;	/* the weight of all there */
	u32 weight;	/* its own */
};

/*
 * Where a cgroup of the flattened weight @flat stands in virtual time, that stood at @vtime: on
 * the scale of its tasks, but for what all of them use. One of them, that was @placed, is at
 * @task_vtime now. So it is known whether a cgroup had more than its share of whose tasks none
 * runs for long. It is as far behind those whom its tasks are compared with, and ahead of them, as
 * one task of its weight may be.
 */
static inline u64 artis_group_vtime(u64 vtime, u32 flat, const struct artis_placed *placed,
				    u64 task_vtime)
{
	u64 earliest = placed->level - artis_distance(ARTIS_SHARE_CREDIT_NS, flat, placed->all);
	u64 latest = placed->level + artis_distance(ARTIS_SHARE_DEBT_NS, flat, placed->all);

	if (artis_vtime_before(vtime, earliest))
		vtime = earliest;
	if (artis_vtime_before(latest, vtime))
		vtime = latest;
	return vtime + (task_vtime - placed->vtime) * placed->weight / flat;
}

#endif /* ARTIS_POLICY_GROUP_H */
