/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task may run, and what the policy may ask of it.
 */
#ifndef ARTIS_VIEW_H
#define ARTIS_VIEW_H

/*
 * May the task not change CPU at the moment? While one of our operations runs
 * for the current task, BPF itself holds its migration disabled once.
 */
static bool is_migration_disabled(struct task_struct *p)
{
	if (p->migration_disabled == 1)
		return bpf_get_current_task_btf() != p;
	return p->migration_disabled;
}

static enum artis_affinity affinity_of(struct task_struct *p)
{
	bool nrt = true, rt = false;
	struct bpf_cpumask *mask;
	u32 i;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		nrt = bpf_cpumask_intersects(as_mask(mask), p->cpus_ptr);
	bpf_for(i, 0, nr_rt) {
		rt = bpf_cpumask_test_cpu(rt_cpu(i), p->cpus_ptr);
		if (rt)
			break;
	}
	bpf_rcu_read_unlock();
	return artis_affinity(p->nr_cpus_allowed, nrt, rt);
}

/* May @p run on @cpu? Not asked of a task whose migration is disabled. */
static bool may_use(const struct task_struct *p, s32 cpu)
{
	/* most may use all: no call then */
	return (u32)p->nr_cpus_allowed == nr_cpus || bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* May @p wait for @cpu, an NRT CPU, or @any one? */
static bool may_wait_for(const struct task_struct *p, s32 cpu, bool any)
{
	const struct artis_cpu *record = cpu_record(cpu);

	return artis_serves(record->rt, record->offline, any) && may_use(p, cpu);
}

static s32 find_near_cpu(const struct task_struct *p, s32 from, bool any)
{
	u32 own = llc_of(from), nth, at;

	if (may_wait_for(p, from, any))
		return from;
	bpf_for(nth, 0, nr_llcs) {
		u32 llc = near_llc(own, nth);

		if (!*online_at(llc, false) && !(any && *online_at(llc, true)))
			continue;
		bpf_for(at, llc_at(llc)->first, llc_at(llc)->end) {
			s32 cpu = llc_cpu(at);

			if (may_wait_for(p, cpu, any))
				return cpu;
		}
	}
	return -1;
}

/*
 * The NRT CPU, or @any CPU, that is nearest to @from and that @p may use; negative: there is
 * none. Global: verified once. The RCU section is for let_on(), a program that may sleep.
 */
__noinline s32 near_cpu(const struct task_struct *p __arg_trusted, s32 from, bool any)
{
	s32 cpu;

	bpf_rcu_read_lock();
	cpu = find_near_cpu(p, from, any);
	bpf_rcu_read_unlock();
	return cpu;
}

/* The cache at which @p waits: where it is, or else the nearest one. */
static u32 llc_for(const struct task_struct *p, bool both)
{
	s32 cpu;

	if (!has_llcs())
		return 0;
	cpu = near_cpu(p, cpu_of(p), both);
	return llc_of(cpu < 0 ? cpu_of(p) : cpu);
}

/* Does the affinity of @p leave no choice but the CPUs it has? */
static bool is_bound(const struct task_ctx *t)
{
	return t && artis_is_bound(t->affinity);
}

/*
 * What the policy may ask of @p. Whether it may change CPU takes a call, so it is
 * filled in by view_fixed() where it is asked.
 */
static __always_inline struct artis_task_view view_of(const struct task_struct *p,
						      const struct task_ctx *t)
{
	return (struct artis_task_view){
		.class = class_of(p),
		.affinity = t->affinity,
		.state = t->state,
		.makes_way = t->makes_way,
	};
}

static __always_inline struct artis_task_view view_fixed(struct task_struct *p,
							 const struct task_ctx *t)
{
	struct artis_task_view view = view_of(p, t);

	view.fixed = is_migration_disabled(p);
	return view;
}

#endif /* ARTIS_VIEW_H */
