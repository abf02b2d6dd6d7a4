/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler for the simulator: src/sched/bpf/artis.bpf.c, compiled for this machine. Nothing of
 * it is typed twice; a change there is one here.
 *
 * All that it knows lies in two sections, so that a simulation begins as the kernel's would: with
 * what the sections held at first.
 */
#include "sim.h"

#pragma clang section bss = "artis_sim_bss" data = "artis_sim_data"

#include <bpf/bpf_helpers.h>
#include "artis.bpf.c"

#pragma clang section bss = "" data = ""

extern char __start_artis_sim_bss[] __attribute__((visibility("hidden")));
extern char __stop_artis_sim_bss[] __attribute__((visibility("hidden")));
extern char __start_artis_sim_data[] __attribute__((visibility("hidden")));
extern char __stop_artis_sim_data[] __attribute__((visibility("hidden")));

#include "kfuncs.h"

/* What the initialised variables held at first. */
static char *first_data;

static void configure(const struct sim_config *config)
{
	u32 i, j;

	nr_cpus = config->nr_cpus;
	nr_rt = config->nr_rt;
	nr_llcs = config->nr_llcs;
	has_breakpoints = true;
	timers_are_exact = true;
	has_timers = true;
	own_tgid = -1;
	for (i = 0; i < config->nr_cpus; i++) {
		llc_cpus[i] = config->llc_cpus[i];
		cpus[i].rt = config->is_rt[i];
		cpus[i].llc = config->llc_of[i];
	}
	for (i = 0; i < config->nr_rt; i++)
		rt_list[i] = config->rt_list[i];
	for (i = 0; i < config->nr_llcs; i++) {
		llcs[i].first = config->llcs[i].first;
		llcs[i].end = config->llcs[i].end;
		llcs[i].rt_first = config->llcs[i].rt_first;
		for (j = 0; j < config->nr_llcs; j++)
			llcs[i].near[j] = config->llcs[i].near[j];
	}
}

static void sim_reset(const struct sim_kernel *with, const struct sim_config *config)
{
	unsigned long bytes = __stop_artis_sim_data - __start_artis_sim_data;

	if (!first_data) {
		first_data = with->array(bytes);
		__builtin_memcpy(first_data, __start_artis_sim_data, bytes);
	}
	__builtin_memcpy(__start_artis_sim_data, first_data, bytes);
	__builtin_memset(__start_artis_sim_bss, 0, __stop_artis_sim_bss - __start_artis_sim_bss);
	kernel = *with;
	shared = kernel.shared;
	configure(config);
	know_kernel(NULL);
}

static void sim_turn_on(void)
{
	on = true;
}

static s32 sim_init_task(struct task_struct *p, struct cgroup *group)
{
	struct scx_init_task_args args = { .cgroup = group };

	return artis_init_task(p, &args);
}

static void sim_any_tick(void)
{
	tick_hand_back();
}

/* The breakpoints are on RT CPUs only; perf's interrupt comes when the exception ends. */
static void sim_enters(void)
{
	if (cpu_record(shared->cpu)->rt && breakpoint_entry(NULL))
		breakpoint_left();
}

static void sim_faults(void)
{
	fault_entry(0, &shared->cpus[shared->cpu].regs, 0);
}

static void sim_works(void)
{
	fault_body(NULL, 0, FAULT_FLAG_USER);
}

static s32 sim_group(struct cgroup *group, const struct sim_group *what)
{
	struct scx_cgroup_init_args args = {
		.weight = what->weight,
		.bw_period_us = what->period_us,
		.bw_quota_us = what->quota_us,
		.bw_burst_us = what->burst_us,
	};

	return artis_cgroup_init(group, &args);
}

static bool sim_let_on(void)
{
	serve_overdue(NULL);
	return limited_groups && let_on(NULL);
}

static u64 sim_look_ns(bool stopped)
{
	return limited_groups ? artis_limit_look_ns(stopped) : artis_overdue_look_ns();
}

static void sim_timer(struct bpf_timer *timer)
{
	u32 key = timer - (struct bpf_timer *)timer->opaque[0];

	((int (*)(void *, u32 *, void *))timer->opaque[1])(NULL, &key, timer);
}

static u64 sim_counter(u32 cpu, u32 which)
{
	return cpus[cpu].count[which];
}

static const char *sim_counter_name(u32 which)
{
#define NAME(name, meaning) #name,
	static const char *const names[] = { ARTIS_COUNTERS(NAME) };
#undef NAME
	return names[which];
}

static void sim_yields(struct task_struct *p)
{
	artis_yield(p, NULL);
}

static const char *sim_queue_name(u64 dsq)
{
	switch (dsq) {
	case DSQ_NRT_KTHREAD:
		return "kernel threads";
	case DSQ_NRT_RT1:
		return "RT1+ tasks, NRT side";
	case DSQ_BOTH_RT1:
		return "RT1+ tasks in user mode";
	case DSQ_HELD:
		return "RCU's thread";
	case DSQ_STOPPED:
		return "tasks whose cgroup has used up its time";
	}
	if (dsq >= DSQ_PINNED_RT1)
		return "RT1+ tasks of one CPU";
	if (dsq >= DSQ_KTHREAD)
		return "kernel threads of one CPU";
	if (dsq >= DSQ_PINNED)
		return "tasks of one CPU";
	return dsq >= DSQ_BOTH_LINUX ? "Linux tasks in user mode" : "Linux tasks, NRT side";
}

static const char *sim_state_name(struct task_struct *p)
{
	switch (task_ctx(p)->state) {
	case ARTIS_STATE_NRT:
		return "of the NRT side";
	case ARTIS_STATE_RT:
		return "of the RT side, in user mode";
	case ARTIS_STATE_PROMOTED:
		return "promoted";
	case ARTIS_STATE_STOPPED:
		return "stopped";
	case ARTIS_STATE_LEAVES_SYSCALL:
		return "leaving for a system call";
	case ARTIS_STATE_LEAVES_FAULT:
		return "leaving for a page fault";
	default:
		return "leaving";
	}
}

/* The only name that others see, of the library that a test loads, too. */
__attribute__((visibility("default"))) struct sim_scheduler artis_sim_scheduler = {
	.task_bytes = sizeof(struct task_struct) + sizeof(struct task_ctx),
	.cpus_max = ARTIS_CPUS_MAX,
	.llcs_max = ARTIS_LLCS_MAX,
	.counters = ARTIS_COUNTER_MAX,
	.reset = sim_reset,
	.init = artis_init,
	.turn_on = sim_turn_on,
	.init_task = sim_init_task,
	.select_cpu = artis_select_cpu,
	.enqueue = artis_enqueue,
	.dispatch = artis_dispatch,
	.tick = artis_tick,
	.yields = sim_yields,
	.running = artis_running,
	.quiescent = artis_quiescent,
	.set_cpumask = artis_set_cpumask,
	.any_tick = sim_any_tick,
	.enters = sim_enters,
	.faults = sim_faults,
	.works = sim_works,
	.group = sim_group,
	.let_on = sim_let_on,
	.look_ns = sim_look_ns,
	.timer = sim_timer,
	.counter = sim_counter,
	.counter_name = sim_counter_name,
	.queue_name = sim_queue_name,
	.state_name = sim_state_name,
};
