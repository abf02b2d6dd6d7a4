/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts, timers, and what other CPUs ask for.
 */
#ifndef ARTIS_RECORDER_INTERRUPTS_H
#define ARTIS_RECORDER_INTERRUPTS_H

/* An interrupt or softirq begins: what a watched thread loses to the outermost is counted. */
static void irq_begins(struct recorder_cpu *cpu, u64 now)
{
	if (!cpu->irq_depth++) {
		cpu->irq_since_ns = now;
		cpu->irqs++;
	}
}

static void irq_ends(struct recorder_cpu *cpu, u64 now)
{
	struct recorder_thread *thread;

	/* one that began before we were here */
	if (!cpu->irq_depth || --cpu->irq_depth)
		return;
	if (now > cpu->irq_since_ns)
		cpu->irq_ns += now - cpu->irq_since_ns;
	thread = watched(cpu);
	if (thread && thread->began_ns && !thread->pending && !thread->fault_ns &&
	    now > cpu->irq_since_ns && cpu->irq_since_ns >= thread->began_ns)
		thread->lost_ns += now - cpu->irq_since_ns;
}

/* Did the interrupt that is handled here come in user mode? Then no function kept it away. */
static bool came_in_user_mode(void)
{
	struct pt_regs **regs = bpf_this_cpu_ptr(&__irq_regs);

	return regs && *regs && ARCH_IN_USER_MODE(*regs);
}

/* The system call that a task is in; -1: none, or it is a thread of the kernel. */
static s32 call_of(struct task_struct *p)
{
	struct pt_regs *regs;

	if (p->flags & PF_KTHREAD)
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	return ARCH_CALL(regs);
}

/*
 * The bytes of code before where the timer's interrupt came, by the stack with this number: they
 * show whether it came as soon as interrupts were on again. 0: cannot be read.
 */
static u64 code_before(u32 number)
{
	u32 place = bpf_get_smp_processor_id() * RECORDER_STACKS + number - 1;
	struct recorder_stack *stack;
	u64 code = 0;
	u32 i;

	if (!timer_entry || !number)
		return 0;
	stack = bpf_map_lookup_elem(&stacks, &place);
	if (!stack)
		return 0;
	for (i = 0; i < RECORDER_DEPTH - 1; i++) {
		u64 at = stack->address[i];

		if (i + 1 >= stack->depth)
			return 0;
		if (at < timer_entry || at >= timer_entry_end)
			continue;
		bpf_probe_read_kernel(&code, sizeof(code), (void *)stack->address[i + 1] - sizeof(code));
		return code;
	}
	return 0;
}

/* what: a clock that was set since its last timer was handled; a: how much later it says it is. */
static void look_at_clock(struct recorder_cpu *cpu, u32 clock, u64 offset_ns)
{
	s64 step_ns;

	clock %= RECORDER_CLOCKS;
	step_ns = offset_ns - clock_offset_ns[clock];
	if (!step_ns)
		return;
	clock_offset_ns[clock] = offset_ns;
	/* the keeper reads two clocks one after the other */
	if (step_ns > RECORDER_CLOCK_STEP_NS || step_ns < -RECORDER_CLOCK_STEP_NS)
		record(cpu, RECORDER_CLOCK_SET, clock, step_ns);
}

/*
 * a: the handler; b: when it was due; other: the stack; what: flags. Due as the thread asked,
 * without slack. @sees_mode: the program may ask came_in_user_mode(), where no stack is needed.
 */
static __always_inline void hrtimer_begins_of(void *ctx, struct hrtimer *timer, bool sees_mode)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event;
	u64 number, due_ns, latest_ns, offset_ns = timer->base->offset;
	int context = timer->is_soft ? 1 : 0;
	/* what comes behind another timer is late by that one: when did the interrupt come? */
	bool first = !cpu->irq_depth || cpu->timers_since_ns != cpu->irq_since_ns;
	bool looked = cpu->irq_depth && cpu->looked_since_ns == cpu->irq_since_ns;
	u64 came_ns = cpu->irq_depth ? cpu->irq_since_ns : 0;

	cpu->timers_since_ns = cpu->irq_since_ns;
	if (offset_ns)
		look_at_clock(cpu, timer->base->clockid, offset_ns);
	event = begin(cpu, RECORDER_HRTIMER_ENTRY);
	if (!event)
		return;
	if (!came_ns)
		came_ns = event->ns;
	number = event->a;
	/* the offset of a clock that can be set makes its times those of CLOCK_MONOTONIC */
	due_ns = timer->_softexpires - offset_ns;
	latest_ns = timer->node.expires - offset_ns;
	cpu->timer_due_ns[context] = due_ns;
	cpu->timer[context] = (u64)timer;
	event->a = (u64)timer->function;
	event->b = due_ns;
	event->pid = (u32)(latest_ns > due_ns ? latest_ns - due_ns : 0);	/* slack */
	*(u64 *)event->name = 0;
	if (!context && !looked) {
		struct task_struct *current = bpf_get_current_task_btf();

		if (sees_mode && came_in_user_mode())
			event->what = RECORDER_IN_USER_MODE;
		if (first && !(current->flags & PF_KTHREAD)) {
			event->what |= RECORDER_CALL_KNOWN;
			*(s32 *)(event->name + 8) = call_of(current);
		}
		if (came_ns > latest_ns && !(event->what & RECORDER_IN_USER_MODE) &&
		    came_ns - latest_ns > stack_after_ns && came_ns - latest_ns > bar_ns / 4 &&
		    !is_on_its_way(watched(cpu))) {
			cpu->looked_since_ns = cpu->irq_since_ns;
			event->other = take_stack(ctx, cpu, event->ns);
			*(u64 *)event->name = code_before(event->other);
		}
	}
	if (offset_ns)
		event->what |= RECORDER_SETTABLE;
	if (limit_timer && event->a == limit_timer) {
		event->what |= RECORDER_OF_LIMIT;
		*(u64 *)event->name = (u64)timer;
	}
	done(event, number);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_begins, struct hrtimer *timer)
{
	hrtimer_begins_of(ctx, timer, true);
	return 0;
}

/* For kernels that do not let programs name their variables. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_begins_plain, struct hrtimer *timer)
{
	hrtimer_begins_of(ctx, timer, false);
	return 0;
}

/* The handler may have freed the timer: only its address is used. */
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_ends, struct hrtimer *timer)
{
	struct recorder_cpu *cpu = this_cpu();

	if (cpu->timer[0] == (u64)timer)
		cpu->timer[0] = 0;
	else if (cpu->timer[1] == (u64)timer)
		cpu->timer[1] = 0;
	record(cpu, RECORDER_HRTIMER_EXIT, 0, 0);
	return 0;
}

/* what: its number; name: its name. */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_begins_here, int irq, struct irqaction *action)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event = begin(cpu, RECORDER_IRQ_ENTRY);
	u64 number;

	if (!event)
		return 0;
	irq_begins(cpu, event->ns);
	number = event->a;
	event->what = irq;
	event->a = 0;
	if (bpf_probe_read_kernel_str(event->name, RECORDER_NAME,
				      action->name) < 0)
		event->name[0] = 0;
	done(event, number);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_ends_here, int irq)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_ends(cpu, record(cpu, RECORDER_IRQ_EXIT, irq, 0));
	return 0;
}

/* what: enum recorder_vector. */
#define VECTOR(name, which)									   \
	SEC("tp_btf/" #name "_entry")								   \
	int BPF_PROG(name##_begins)								   \
	{											   \
		struct recorder_cpu *cpu = this_cpu();						   \
												   \
		irq_begins(cpu, record(cpu, RECORDER_VECTOR_ENTRY, which, 0));			   \
		return 0;									   \
	}											   \
	SEC("tp_btf/" #name "_exit")								   \
	int BPF_PROG(name##_ends)								   \
	{											   \
		struct recorder_cpu *cpu = this_cpu();						   \
												   \
		irq_ends(cpu, record(cpu, RECORDER_VECTOR_EXIT, which, 0));			   \
		return 0;									   \
	}

VECTOR(local_timer, RECORDER_LOCAL_TIMER)
VECTOR(reschedule, RECORDER_RESCHEDULE)
VECTOR(call_function, RECORDER_CALL_FUNCTION)
VECTOR(call_function_single, RECORDER_CALL_FUNCTION)
VECTOR(irq_work, RECORDER_IRQ_WORK)
VECTOR(x86_platform_ipi, RECORDER_PLATFORM)
VECTOR(thermal_apic, RECORDER_THERMAL)
VECTOR(error_apic, RECORDER_APIC_ERROR)

/* include/linux/interrupt.h */
#define NET_RX_SOFTIRQ 3

/* The device of the packets that wait here and came by none that has a queue. */
static void look_at_backlog(struct recorder_cpu *cpu)
{
	struct softnet_data *data = (struct softnet_data *)cpu->backlog;
	struct net_device *first, *last;
	struct sk_buff *packet;

	cpu->device[0] = 0;
	packet = BPF_CORE_READ(data, input_pkt_queue.next);
	if (!packet || (u64)packet == (u64)__builtin_preserve_access_index(&data->input_pkt_queue))
		return;
	first = BPF_CORE_READ(packet, dev);
	last = BPF_CORE_READ(data, input_pkt_queue.prev, dev);
	if (first == last)
		bpf_probe_read_kernel_str(cpu->device, RECORDER_NAME, BPF_CORE_READ(first, name));
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int which)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_begins(cpu, record(cpu, RECORDER_SOFTIRQ_ENTRY, which, 0));
	if (which == NET_RX_SOFTIRQ && cpu->backlog)
		look_at_backlog(cpu);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int which)
{
	struct recorder_cpu *cpu = this_cpu();

	irq_ends(cpu, record(cpu, RECORDER_SOFTIRQ_EXIT, which, 0));
	return 0;
}

/* The function of the delayed work that has this timer; 0: cannot be read. */
static u64 work_of(struct timer_list *timer)
{
	u64 work = (u64)timer - bpf_core_field_offset(struct delayed_work, timer);
	u64 function;

	/* The verifier knows the timer, and nothing in front of it. */
	if (bpf_core_read(&function, sizeof(function),
			  &((struct delayed_work *)work)->work.func))
		return 0;
	return function;
}

/* a: the function; b: that of the work, if it is the timer of a delayed one. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_begins, struct timer_list *timer)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_TIMER_ENTRY);
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->a = (u64)timer->function;
	if (delayed_work_timer && event->a == delayed_work_timer)
		event->b = work_of(timer);
	done(event, number);
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(timer_ends)
{
	record(this_cpu(), RECORDER_TIMER_EXIT, 0, 0);
	return 0;
}

/* name: the network device that packets were taken from; a: how many; what: they had waited. */
SEC("tp_btf/napi_poll")
int BPF_PROG(napi_polled, struct napi_struct *napi, int work)
{
	struct recorder_cpu *cpu = this_cpu();
	struct recorder_event *event = begin(cpu, RECORDER_NAPI);
	struct net_device *device;
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->a = work;
	event->name[0] = 0;
	device = napi->dev;
	if (device) {
		bpf_probe_read_kernel_str(event->name, RECORDER_NAME, device->name);
	} else {
		event->what = 1;
		bpf_probe_read_kernel(event->name, RECORDER_NAME, cpu->device);
		cpu->device[0] = 0;
		cpu->backlog = (u64)napi - bpf_core_field_offset(struct softnet_data, backlog);
	}
	done(event, number);
	return 0;
}

/*
 * a: the function that another CPU asked for. Not typed tracepoints: of those the
 * verifier does not let a pointer to a function be read.
 */
SEC("raw_tp/csd_function_entry")
int BPF_PROG(call_begins, void *function)
{
	record(this_cpu(), RECORDER_CSD_ENTRY, 0, (u64)function);
	return 0;
}

SEC("raw_tp/csd_function_exit")
int BPF_PROG(call_ends, void *function)
{
	record(this_cpu(), RECORDER_CSD_EXIT, 0, (u64)function);
	return 0;
}

/* pid, name: who asks; what: which CPU; a: for which function. */
SEC("raw_tp/csd_queue_cpu")
int BPF_PROG(call_sent, unsigned int to, unsigned long callsite, void *function)
{
	struct recorder_event *event = begin(this_cpu(), RECORDER_CSD_SEND);
	struct task_struct *p = bpf_get_current_task_btf();
	u64 number;

	if (!event)
		return 0;
	number = event->a;
	event->what = to;
	event->pid = p->pid;
	event->a = (u64)function;
	name_of(event->name, p);
	done(event, number);
	return 0;
}

#endif /* ARTIS_RECORDER_INTERRUPTS_H */
