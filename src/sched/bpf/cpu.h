/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be measured of a CPU, and of a task as such.
 */
#ifndef ARTIS_CPU_H
#define ARTIS_CPU_H

static bool is_rt(s32 cpu)
{
	return cpu_record(cpu)->rt;
}

static void count(enum artis_counter counter)
{
	cpu_record(bpf_get_smp_processor_id())->count[counter]++;
}

/* What kfuncs want to see of a bpf_cpumask. */
static const struct cpumask *as_mask(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

/* The number of the @i-th RT CPU. */
static s32 rt_cpu(u32 i)
{
	barrier_var(i);
	return rt_list[i & (ARTIS_CPUS_MAX - 1)];
}

/* The number of the @i-th CPU, cache by cache. */
static s32 llc_cpu(u32 i)
{
	barrier_var(i);
	return llc_cpus[i & (ARTIS_CPUS_MAX - 1)];
}

/*
 * Is a SCHED_FIFO or SCHED_RR task runnable on @cpu? Deadline tasks are not
 * asked for: a deadline server counts as one of them, and it is "runnable" all
 * the time that it runs one of our tasks.
 */
static bool rt0_runnable(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->rt.rt_nr_running;
}

/* Is @cpu an NRT CPU on which real-time tasks are runnable? */
static bool is_beset(s32 cpu)
{
	return artis_is_beset(is_rt(cpu), rt0_runnable(cpu));
}

/*
 * Notes that an NRT CPU found no task, and so is about to idle, or that it has one. Under
 * load none idles, and a wakeup sees that by one number: the kernel's mask of idle CPUs is
 * the exact answer, and a look at it takes 200 instructions. What the kernel does without
 * asking for a task (bypass, while the machine is suspended) is repaired at a tick.
 */
static void idles(struct artis_cpu *record, bool does)
{
	u32 now = does;

	/* hotplug writes it from elsewhere: who changes it counts */
	if (record->idles != now && __sync_lock_test_and_set(&record->idles, now) != now)
		__sync_fetch_and_add(&nr_idle_nrt, does ? 1 : -1);
}

/* The clock of @cpu, whose run queue is locked: scx_bpf_now() at a seventh of its cost. */
static u64 clock_of(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->clock : scx_bpf_now();
}

/* Tasks in the own queue of @cpu. */
static u32 local_queued(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? rq->scx.local_dsq.nr : 0;
}

/* Is @p, on the CPU of @record, enqueued because it waited behind a long burst of RT0? */
static bool is_handed_back(const struct artis_cpu *record, const struct task_struct *p,
			   u64 enq_flags)
{
	return enq_flags & SCX_ENQ_REENQ ||
	       (hands_back_late() && record->late_pid == (u32)p->pid);
}

static enum artis_class class_of(const struct task_struct *p)
{
	return artis_classify(p->policy, p->flags & PF_KTHREAD);
}

static u32 weight_of(const struct task_struct *p)
{
	return artis_task_weight(p->policy, p->static_prio);
}

/* Is @p a thread of artis, the process? */
static bool is_own(const struct task_struct *p)
{
	return p->tgid == own_tgid;
}

/* May @p work in the kernel wherever it is? */
static bool is_exempt(const struct task_struct *p)
{
	return artis_is_exempt(p->policy, p->flags & PF_KTHREAD);
}

/* The class of our task that runs on @cpu. */
static enum artis_class class_on(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	const struct task_struct *p = rq ? rq->curr : NULL;

	/* the idle task has the number 0 */
	if (!p || !p->pid || artis_is_rt0(p->policy))
		return ARTIS_CLASS_NONE;
	return class_of(p);
}

#endif /* ARTIS_CPU_H */
