/* SPDX-License-Identifier: GPL-2.0-only */
/* Idle NRT CPUs: which of them a task may have, and those that are to look for one. */
#ifndef ARTIS_NRT_IDLE_H
#define ARTIS_NRT_IDLE_H

/* Is an NRT CPU idle? */
static bool nrt_cpu_is_idle(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	struct bpf_cpumask *mask;
	bool is_idle = false;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		is_idle = bpf_cpumask_intersects(as_mask(mask), idle);
	bpf_rcu_read_unlock();
	scx_bpf_put_idle_cpumask(idle);
	return is_idle;
}

/* Is an NRT CPU idle that @p may use? */
static bool nrt_cpu_is_idle_for(const struct task_struct *p)
{
	const struct cpumask *idle;
	bool is_idle = false;
	u32 cpu;

	if (!nr_idle_nrt)
		return false;
	/* most may use all: no look at each CPU then */
	if ((u32)p->nr_cpus_allowed == nr_cpus)
		return nrt_cpu_is_idle();
	idle = scx_bpf_get_idle_cpumask();
	bpf_for(cpu, 0, nr_cpus) {
		is_idle = !is_rt(cpu) && bpf_cpumask_test_cpu(cpu, idle) && may_use(p, cpu);
		if (is_idle)
			break;
	}
	scx_bpf_put_idle_cpumask(idle);
	return is_idle;
}

/* Has the idle NRT CPUs look for a task. Global: it has an RCU section of its own. */
__noinline int wake_nrt_side(void)
{
	u32 cpu;

	if (!nrt_cpu_is_idle())
		return 0;
	bpf_for(cpu, 0, nr_cpus) {
		const struct artis_cpu *record = cpu_record(cpu);

		if (artis_serves(record->rt, record->offline, false))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
	return 0;
}

/*
 * An RT CPU idles, or ticks: does a kernel thread wait that woke up there (ARTIS_PICK_NRT_LATER)?
 * An NRT CPU that was about to idle just then has not seen it.
 */
static void pass_on_kthreads(void)
{
	if (nr_idle_nrt && waiting(DSQ_NRT_KTHREAD))
		wake_nrt_side();
}

/* The best idle NRT CPU that @p may use, or negative. */
static s32 idle_nrt_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct bpf_cpumask *mask;
	s32 cpu = -1;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, as_mask(mask));
	bpf_rcu_read_unlock();
	return cpu;
}

/*
 * The same for a task that is queued already: some idle CPU has to be woken. Most tasks may
 * run everywhere, and with one last-level cache it matters little which: a look at a mask.
 */
static s32 any_idle_nrt_cpu(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = -1;

	if (!nr_idle_nrt)
		return cpu;
	if ((u32)p->nr_cpus_allowed != nr_cpus)
		return idle_nrt_cpu(p, prev_cpu, 0);
	if (has_llcs())
		return nrt_cpu_is_idle() ? idle_nrt_cpu(p, prev_cpu, 0) : -1;
	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = scx_bpf_pick_idle_cpu(as_mask(mask), 0);
	bpf_rcu_read_unlock();
	return cpu;
}

#endif /* ARTIS_NRT_IDLE_H */
