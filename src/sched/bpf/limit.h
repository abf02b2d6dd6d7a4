/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of CPU cgroups (cpu.max): what each has left. A task that runs subtracts from all
 * above it, at ticks mostly; release.h adds. Both need no lock for it.
 *
 * While no cgroup has a limit, all this is a test of limited_groups.
 */
#ifndef ARTIS_LIMIT_H
#define ARTIS_LIMIT_H

/* Is the task charged, and stopped? */
static bool is_limited(const struct task_struct *p, const struct task_ctx *t)
{
	return t->group && artis_is_limited(class_of(p), is_own(p));
}

/*
 * Charges the limits above a task of the cgroup @index for @ran_ns. Is one of them used up?
 * Global, as the next: verified once.
 */
__noinline int charge_limits(u32 index, u64 ran_ns)
{
	bool is_out = false;
	u32 level;

	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *group = group_at(index);

		if (!index)
			break;
		if (artis_limit_is_set(&group->limit)) {
			__sync_fetch_and_sub(&group->limit.left_ns, ran_ns);
			is_out |= artis_limit_is_out(&group->limit);
		}
		index = group->parent;
	}
	return is_out;
}

/* Do all limits above a task of the cgroup @index let one more on? Then one is. */
__noinline int take_turn(u32 index)
{
	u32 level, above = index;

	bpf_for(level, 0, artis_group_depth_max()) {
		const struct group *group = group_at(above);

		if (!above)
			break;
		if (!artis_limit_has_turn(&group->limit))
			return false;
		above = group->parent;
	}
	bpf_for(level, 0, artis_group_depth_max()) {
		struct group *group = group_at(index);

		if (!index)
			break;
		artis_limit_promise(&group->limit);
		index = group->parent;
	}
	return true;
}

#endif /* ARTIS_LIMIT_H */
