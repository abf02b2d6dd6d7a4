/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU cgroups: a tree of weights and limits, and who of it has runnable tasks.
 *
 * Only kernels with CONFIG_EXT_GROUP_SCHED call the operations here, for the cgroups whose
 * parent hands out the cpu controller. A task of any other belongs to the nearest of
 * those above, or to the root.
 *
 * When a cgroup becomes active or not, or gets another weight, the flattened weights of
 * others change. They are computed again when one of their tasks is next queued: the
 * generation says whether that is due. An RT0 meets nothing of this: it is in no queue.
 */
#ifndef ARTIS_GROUP_H
#define ARTIS_GROUP_H

struct group {
	struct artis_group tree;
	u32 parent;		/* 0: the root */
	u32 flat;		/* its flattened weight; 0: it was not computed yet */
	u32 plain;		/* cpu.weight */
	u8 idle;		/* cpu.idle */
	u8 used;
	u64 generation;		/* of the tree, when flat was computed */
	u64 flat_ns;		/* and the time */
	u64 vtime;		/* where it stands: artis_group_vtime() */
	struct artis_limit limit;	/* charged and refilled without the lock, see limit.h */
};

/* Changed with the lock below held. The first is the root, and is no group. */
struct group groups[ARTIS_GROUPS_MAX];
u64 groups_generation = 1;
u64 groups_refused;		/* came when all was used: their tasks count as the root's */
u32 groups_end = 1;		/* no place from here on was ever used */

struct groups_lock {
	struct bpf_spin_lock lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct groups_lock);
} groups_locks SEC(".maps");

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

static struct groups_lock *groups_lock(void)
{
	u32 only = 0;

	return bpf_map_lookup_elem(&groups_locks, &only);
}

/* The place of a cgroup in groups[]; 0: it is the root, or counts as such. */
static u32 group_of(const struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 *index = bpf_map_lookup_elem(&group_ids, &id);

	return index ? *index : 0;
}

/* Computes the flattened weight of a group, up the path to the root. Locked. */
static u32 flatten(const struct group *group, u64 now)
{
	u64 part = artis_group_whole();
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *parent = group_at(group->parent);

		if (!group->parent)
			break;
		artis_group_note(&parent->tree, now);
		part = artis_group_part(part, group->tree.weight, &parent->tree);
		group = parent;
	}
	return artis_group_flat(part, group->tree.weight);
}

/* A group has become active (@joins), or is so no more. So may those above it. Locked. */
static void update_above(const struct group *group, bool joins, u64 now)
{
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *parent = group_at(group->parent);
		u32 weight = group->tree.weight;
		bool changed;

		if (!group->parent)
			break;
		changed = joins ? artis_group_join_below(&parent->tree, weight, now) :
				  artis_group_leave_below(&parent->tree, weight, now);
		if (!changed)
			break;
		group = parent;
	}
}

/* Charges the group for what the task used since it was placed. Locked. */
static void charge_group(struct group *group, const struct task_ctx *t)
{
	if (group->flat && t->placed.weight)
		group->vtime = artis_group_vtime(group->vtime, group->flat, &t->placed, t->vtime);
}

/*
 * The task is about to be queued: it is one of its group's runnable tasks now, if it was
 * not. Returns what it counts with, of @weight, in the group. Global: verified once.
 */
__noinline u32 join_group(struct task_ctx *t __arg_nonnull, u32 weight)
{
	struct groups_lock *lock = groups_lock();
	struct group *group = group_at(t->group);
	u32 share = weight;
	u64 now = scx_bpf_now();

	if (!lock)
		return share;
	bpf_spin_lock(&lock->lock);
	if (!group->used) {
		bpf_spin_unlock(&lock->lock);
		return share;
	}
	if (t->grouped) {
		charge_group(group_at(t->grouped), t);
	} else {
		bool changed = artis_group_join(&group->tree, weight, now);

		if (changed)
			update_above(group, true, now);
		if (artis_group_changes(&group->tree, changed))
			groups_generation++;
		t->grouped = t->group;
		t->grouped_weight = weight;
	}
	t->group_vtime = group->vtime;
	if (artis_group_is_stale(group->generation != groups_generation, group->flat_ns, now)) {
		group->flat = flatten(group, now);
		group->generation = groups_generation;
		group->flat_ns = now;
	}
	artis_group_note(&group->tree, now);
	share = artis_share(group->flat, &group->tree, t->grouped_weight);
	bpf_spin_unlock(&lock->lock);
	return share;
}

/* The task is runnable no more, or counts in its group no more. Global: verified once. */
__noinline int leave_group(struct task_ctx *t __arg_nonnull)
{
	struct groups_lock *lock = groups_lock();
	struct group *group = group_at(t->grouped);
	u64 now = scx_bpf_now();
	bool changed;

	if (!lock || !t->grouped)
		return 0;
	bpf_spin_lock(&lock->lock);
	charge_group(group, t);
	changed = artis_group_leave(&group->tree, t->grouped_weight, now);
	if (changed)
		update_above(group, false, now);
	if (artis_group_changes(&group->tree, changed))
		groups_generation++;
	bpf_spin_unlock(&lock->lock);
	t->grouped = 0;
	return 0;
}

/* Counts the group, or counts it no more, among those with a limit. Locked. */
static void count_limit(const struct group *group, u32 more)
{
	if (artis_limit_is_set(&group->limit))
		limited_groups += more;
}

/* A place in groups[] that nobody uses, now the new cgroup's; 0: there is none. */
static u32 claim_group(const struct group *new)
{
	struct groups_lock *lock = groups_lock();
	u32 index;

	if (!lock)
		return 0;
	bpf_for(index, 1, ARTIS_GROUPS_MAX) {
		struct group *group = group_at(index);
		bool is_free;

		if (group->used)
			continue;
		bpf_spin_lock(&lock->lock);
		/* a task that ends may be in a cgroup that is gone */
		is_free = !group->used && !group->tree.active;
		if (is_free) {
			*group = *new;
			count_limit(group, 1);
			if (groups_end <= index)
				groups_end = index + 1;
		}
		bpf_spin_unlock(&lock->lock);
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
	if (bpf_core_field_exists(args->bw_quota_us))
		artis_limit_set(&new.limit, args->bw_period_us, args->bw_quota_us,
				args->bw_burst_us, scx_bpf_now());
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
	struct groups_lock *lock = groups_lock();
	u64 id = cgrp->kn->id;
	u32 index = group_of(cgrp);
	struct group *group = group_at(index);

	if (!index || !lock)
		return;
	bpf_map_delete_elem(&group_ids, &id);
	bpf_spin_lock(&lock->lock);
	count_limit(group, -1);
	group->used = false;
	bpf_spin_unlock(&lock->lock);
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
	struct groups_lock *lock = groups_lock();
	struct group *group = group_at(index);
	struct group *parent = group_at(group->parent);
	u64 now = scx_bpf_now();

	if (!lock || !index)
		return;
	bpf_spin_lock(&lock->lock);
	group->plain = plain;
	group->idle = idle;
	artis_group_reweigh(&group->tree, &parent->tree, artis_group_weight(plain, idle), now);
	groups_generation++;
	bpf_spin_unlock(&lock->lock);
}

SEC("struct_ops/artis_cgroup_set_weight")
void BPF_PROG(artis_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	u32 index = group_of(cgrp);

	reweigh(index, weight, group_at(index)->idle);
}

/* Newer kernels have it. */
SEC("struct_ops/artis_cgroup_set_idle")
void BPF_PROG(artis_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	u32 index = group_of(cgrp);

	reweigh(index, group_at(index)->plain, idle);
}

/* 6.17 and newer have it. The cgroup gets a limit, another one, or none. */
SEC("struct_ops/artis_cgroup_set_bandwidth")
void BPF_PROG(artis_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
	      u64 burst_us)
{
	struct groups_lock *lock = groups_lock();
	u32 index = group_of(cgrp);
	struct group *group = group_at(index);
	u64 now = scx_bpf_now();

	if (!lock || !index)
		return;
	bpf_spin_lock(&lock->lock);
	count_limit(group, -1);
	artis_limit_set(&group->limit, period_us, quota_us, burst_us, now);
	count_limit(group, 1);
	bpf_spin_unlock(&lock->lock);
}

#endif /* ARTIS_GROUP_H */
