/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU cgroups: a tree of weights, and what each cgroup had of the CPUs.
 *
 * Only kernels with CONFIG_EXT_GROUP_SCHED call the operations here, and only for
 * cgroups with a weight of their own (v2: those whose parent hands out the cpu
 * controller). All others belong to the nearest of those above. Tasks of the root are
 * in no group, and cost no more than to see that.
 *
 * When a cgroup becomes active or not, or gets another weight, the flattened weights of
 * others change. They are reckoned again when one of their tasks is next queued: the
 * generation says whether that is due.
 */
#ifndef ARTIS_GROUP_H
#define ARTIS_GROUP_H

struct group {
	struct artis_group tree;
	u32 parent;		/* 0: the root */
	u32 flat;		/* weight with which its tasks count together; 0: it has none */
	u32 idle;		/* cpu.idle */
	u32 plain;		/* cpu.weight */
	u32 used;
	u64 generation;		/* of the tree, when flat was reckoned */
	u64 vtime;		/* of all its tasks together */
	s64 lag;		/* how far behind the mean it was when it left the pool */
};

/* Written with the lock below held. The first is the root, and is no group. */
struct group groups[ARTIS_GROUPS_MAX];
u64 groups_generation;
/* cgroups that came when all of groups[] was used: their tasks count as the root's */
u64 groups_refused;

/* Those with runnable tasks, by their flattened weights. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pool);
} group_pool SEC(".maps");

/* From the number of a cgroup in the kernel to its place in groups[]. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ARTIS_GROUPS_MAX);
	__type(key, u64);
	__type(value, u32);
} group_ids SEC(".maps");

static struct group *group_at(u32 index)
{
	barrier_var(index);
	return &groups[index & (ARTIS_GROUPS_MAX - 1)];
}

static struct pool *group_pool_lookup(void)
{
	u32 only = 0;

	return bpf_map_lookup_elem(&group_pool, &only);
}

/* The place of a cgroup in groups[]; 0: it is the root, or counts as such. */
static u32 group_of(const struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 *index = bpf_map_lookup_elem(&group_ids, &id);

	return index ? *index : 0;
}

/* Reckons the weight of a group's own tasks, up the path to the root. Locked. */
static u32 flatten(const struct group *group)
{
	u64 share = artis_group_share(&group->tree);
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		const struct group *parent = group_at(group->parent);

		if (!group->parent)
			break;
		share = artis_group_share_of(share, group->tree.weight, &parent->tree);
		group = parent;
	}
	return artis_group_flat(share, group->tree.weight);
}

/* The group, which has runnable tasks, counts in the pool with the weight it has now. Locked. */
static void repool(struct artis_pool *pool, struct group *group)
{
	if (group->flat)
		artis_pool_leave(pool, group->vtime, group->flat);
	group->flat = flatten(group);
	group->generation = groups_generation;
	artis_pool_join(pool, group->vtime, group->flat);
}

/* A group that was not active is, so those above it may be. Locked. */
static void activate(const struct group *group)
{
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *parent = group_at(group->parent);

		if (!group->parent || !artis_group_join_below(&parent->tree, group->tree.weight))
			break;
		group = parent;
	}
}

static void deactivate(const struct group *group)
{
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *parent = group_at(group->parent);

		if (!group->parent || !artis_group_leave_below(&parent->tree, group->tree.weight))
			break;
		group = parent;
	}
}

/*
 * The task, which counts with @weight in its group, is about to be queued: it is one of
 * the group's runnable tasks now, if it was not. Returns its part of the group's
 * weight, and notes where the group stands. Global: verified once.
 */
__noinline int place_in_group(struct task_ctx *t __arg_nonnull, u32 weight)
{
	struct pool *pool = group_pool_lookup();
	struct group *group = group_at(t->group);
	bool joins = !t->grouped;
	u64 mean;

	if (!pool)
		return weight;
	bpf_spin_lock(&pool->lock);
	if (!group->used) {
		bpf_spin_unlock(&pool->lock);
		return weight;
	}
	if (joins) {
		bool changed = artis_group_join(&group->tree, weight);

		if (changed)
			activate(group);
		if (artis_group_changes(&group->tree, changed))
			groups_generation++;
		t->grouped = t->group;
		t->grouped_weight = weight;
	}
	if (!group->flat)
		group->vtime = artis_vtime_place(ARTIS_ARRIVAL_BACK, group->vtime, group->lag,
						 artis_pool_vtime(&pool->tasks));
	if (!group->flat || group->generation != groups_generation)
		repool(&pool->tasks, group);
	mean = artis_pool_vtime(&pool->tasks);
	weight = artis_group_task_weight(group->flat, &group->tree, t->grouped_weight,
					 artis_group_ns(group->vtime - mean, group->flat));
	t->standing = artis_group_standing(artis_group_ns(group->vtime - mean, group->flat));
	bpf_spin_unlock(&pool->lock);
	return weight;
}

/* The group's task ran for @ran_ns. Global: verified once. */
__noinline int charge_group(struct task_ctx *t __arg_nonnull, u64 ran_ns)
{
	struct pool *pool = group_pool_lookup();
	struct group *group = group_at(t->grouped);
	u64 vtime, mean;

	if (!pool || !group->flat)
		return 0;
	bpf_spin_lock(&pool->lock);
	vtime = group->vtime + artis_vtime_charge(ran_ns, group->flat);
	artis_pool_charge(&pool->tasks, vtime - group->vtime, group->flat);
	group->vtime = vtime;
	mean = artis_pool_vtime(&pool->tasks);
	vtime = artis_group_bound(vtime, mean, group->flat);
	artis_pool_charge(&pool->tasks, vtime - group->vtime, group->flat);
	group->vtime = vtime;
	artis_pool_rebase(&pool->tasks);
	t->standing = artis_group_standing(artis_group_ns(vtime - mean, group->flat));
	bpf_spin_unlock(&pool->lock);
	return 0;
}

/* The group's task is runnable no more. Global: verified once. */
__noinline int leave_group(struct task_ctx *t __arg_nonnull)
{
	struct pool *pool = group_pool_lookup();
	struct group *group = group_at(t->grouped);
	bool changed;

	if (!pool)
		return 0;
	bpf_spin_lock(&pool->lock);
	changed = artis_group_leave(&group->tree, t->grouped_weight);
	if (changed)
		deactivate(group);
	if (artis_group_changes(&group->tree, changed))
		groups_generation++;
	if (!group->tree.tasks) {
		group->lag = artis_pool_vtime(&pool->tasks) - group->vtime;
		artis_pool_leave(&pool->tasks, group->vtime, group->flat);
		group->flat = 0;
	}
	bpf_spin_unlock(&pool->lock);
	t->grouped = 0;
	t->standing = ARTIS_STANDING_LEVEL;
	return 0;
}

/* A place in groups[] that nobody uses, now the new cgroup's; 0: there is none. */
static u32 claim_group(const struct group *new)
{
	struct pool *pool = group_pool_lookup();
	u32 index;

	if (!pool)
		return 0;
	bpf_for(index, 1, ARTIS_GROUPS_MAX) {
		struct group *group = group_at(index);
		bool is_free;

		if (group->used)
			continue;
		bpf_spin_lock(&pool->lock);
		/* a task that ends may be in a cgroup that is gone */
		is_free = !group->used && !group->tree.active;
		if (is_free) {
			*group = *new;
			group->vtime = artis_pool_vtime(&pool->tasks);
		}
		bpf_spin_unlock(&pool->lock);
		if (is_free)
			return index;
	}
	return 0;
}

/* Those above come first, and only the root has none above it. */
SEC("struct_ops.s/artis_cgroup_init")
s32 BPF_PROG(artis_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	struct cgroup_subsys_state *above = cgrp->self.parent;
	u64 id = cgrp->kn->id;
	struct group new = {
		.plain = args->weight,
		.used = true,
	};
	u32 index;

	if (!above)
		return 0;
	if (bpf_core_field_exists(args->sched_idle))
		new.idle = args->sched_idle;
	new.tree.weight = artis_group_weight(new.plain, new.idle);
	new.parent = group_of(above->cgroup);
	index = claim_group(&new);
	if (!index) {
		groups_refused++;
		return 0;
	}
	return bpf_map_update_elem(&group_ids, &id, &index, 0);
}

SEC("struct_ops.s/artis_cgroup_exit")
void BPF_PROG(artis_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 index = group_of(cgrp);

	if (!index)
		return;
	bpf_map_delete_elem(&group_ids, &id);
	group_at(index)->used = false;
}

/* The task is not runnable while it moves. */
SEC("struct_ops/artis_cgroup_move")
void BPF_PROG(artis_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct task_ctx *t = task_ctx(p);

	if (t)
		t->group = group_of(to);
}

static void reweigh(u32 index, u32 plain, bool idle)
{
	struct pool *pool = group_pool_lookup();
	struct group *group = group_at(index);
	struct group *parent = group_at(group->parent);

	if (!pool || !index)
		return;
	bpf_spin_lock(&pool->lock);
	group->plain = plain;
	group->idle = idle;
	artis_group_reweigh(&group->tree, &parent->tree, artis_group_weight(plain, idle));
	groups_generation++;
	bpf_spin_unlock(&pool->lock);
}

SEC("struct_ops/artis_cgroup_set_weight")
void BPF_PROG(artis_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	u32 index = group_of(cgrp);

	reweigh(index, weight, group_at(index)->idle);
}

SEC("struct_ops/artis_cgroup_set_idle")
void BPF_PROG(artis_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	u32 index = group_of(cgrp);

	reweigh(index, group_at(index)->plain, idle);
}

#endif /* ARTIS_GROUP_H */
