/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing: the ring of a CPU, and the stacks.
 */
#ifndef ARTIS_RECORDER_RING_H
#define ARTIS_RECORDER_RING_H

/* The loader refuses more CPUs; the mask is how the verifier sees that the index fits. */
static struct recorder_cpu *cpu_at(u32 cpu)
{
	return &cpus[cpu & (RECORDER_CPUS_MAX - 1)];
}

static struct recorder_cpu *this_cpu(void)
{
	return cpu_at(bpf_get_smp_processor_id());
}

/*
 * The run queue of the CPU that @p is on. By way of the task, because a kernel without
 * CONFIG_KALLSYMS_ALL does not let programs name its variables.
 */
static struct rq *rq_of(struct task_struct *p)
{
	if (!bpf_core_field_exists(p->se.cfs_rq))
		return NULL;
	return p->se.cfs_rq->rq;
}

/* What the hypervisor took so far, as the scheduler saw it when it last looked at the clock. */
static u64 steal_ns(struct rq *rq)
{
	if (!rq || !bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	return rq->prev_steal_time_rq;
}

/*
 * The next place of this CPU's ring, with what every event has. An addition that
 * an interrupt cannot split gives the place; done() makes it readable.
 */
static struct recorder_event *begin(struct recorder_cpu *cpu, u16 kind)
{
	u64 number;
	u32 key;
	struct recorder_event *event;

	if (stopped)
		return NULL;
	number = __sync_fetch_and_add(&cpu->events, 1);
	key = bpf_get_smp_processor_id() * RECORDER_EVENTS + (number & (RECORDER_EVENTS - 1));
	event = bpf_map_lookup_elem(&events, &key);
	if (!event)
		return NULL;
	event->number = RECORDER_HALF_DONE;
	barrier();
	event->ns = bpf_ktime_get_ns();
	event->kind = kind;
	event->what = 0;
	event->pid = 0;
	event->other = 0;
	event->a = number;
	event->b = 0;
	event->steal_ns = 0;
	return event;
}

static void done(struct recorder_event *event, u64 number)
{
	barrier();
	event->number = (u32)(number + 1) & 0x7fffffffU;
}

/* An event with a value; when it happened, 0 when nothing is recorded any more. */
static u64 record(struct recorder_cpu *cpu, u16 kind, u16 what, u64 a)
{
	struct recorder_event *event = begin(cpu, kind);
	u64 number, ns;

	if (!event)
		return 0;
	number = event->a;
	ns = event->ns;
	event->what = what;
	event->a = a;
	done(event, number);
	return ns;
}

/* In two words: the verifier knows @p, so no helper has to look whether it can be read. */
static void name_of(char *name, struct task_struct *p)
{
	const u64 *from = (const u64 *)p->comm;
	u64 *to = (u64 *)name;

	to[0] = from[0];
	to[1] = from[1];
}

/* The number of the stack that is taken, counted from 1; 0: none. @p: who sleeps, or NULL. */
static __always_inline u32 take_stack_of(void *ctx, struct task_struct *p, struct recorder_cpu *cpu,
					 u64 ns)
{
	u64 number = __sync_fetch_and_add(&cpu->stacks, 1);
	u32 place = bpf_get_smp_processor_id() * RECORDER_STACKS + (number & (RECORDER_STACKS - 1));
	struct recorder_stack *stack = bpf_map_lookup_elem(&stacks, &place);
	long bytes;

	if (!stack)
		return 0;
	stack->ns = 0;
	barrier();
	if (p)
		bytes = bpf_get_task_stack(p, stack->address, sizeof(stack->address), 0);
	else
		bytes = bpf_get_stack(ctx, stack->address, sizeof(stack->address), 0);
	stack->depth = bytes > 0 ? (u64)bytes / sizeof(u64) : 0;
	barrier();
	stack->ns = ns;
	return (number & (RECORDER_STACKS - 1)) + 1;
}

static u32 take_stack(void *ctx, struct recorder_cpu *cpu, u64 ns)
{
	return take_stack_of(ctx, NULL, cpu, ns);
}

#endif /* ARTIS_RECORDER_RING_H */
