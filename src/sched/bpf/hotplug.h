/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that come and go. The scheduler ends with the last NRT CPU.
 */
#ifndef ARTIS_HOTPLUG_H
#define ARTIS_HOTPLUG_H

#define EXIT_NO_NRT_CPU 1

static void came_online(s32 cpu)
{
	struct artis_cpu *record = cpu_record(cpu);

	if (!record->offline)
		return;
	record->offline = false;
	(*online_at(record->llc, record->rt))++;
	if (record->rt) {
		nr_rt_online++;
		record->count[ARTIS_cpu_online]++;
	} else {
		nr_nrt_online++;
		idles(record, true);
	}
}

static void went_offline(s32 cpu)
{
	static char message[] = "the last NRT CPU went offline";
	unsigned long long no_arguments = 0;
	struct artis_cpu *record = cpu_record(cpu);

	record->unwatched = false;
	if (record->offline)
		return;
	record->offline = true;
	(*online_at(record->llc, record->rt))--;
	if (record->rt) {
		nr_rt_online--;
		record->count[ARTIS_cpu_offline]++;
		return;
	}
	idles(record, false);
	if (artis_must_end(--nr_nrt_online))
		scx_bpf_exit_bstr(EXIT_NO_NRT_CPU, message, &no_arguments, 0);
}

/*
 * The kernel calls ops.cpu_offline() only when the CPU has served nobody for an RCU
 * grace period. With the last NRT CPU gone that period would never end. So the
 * hotplug path itself is hooked, at its first step.
 */
SEC("fentry/sched_cpu_deactivate")
int BPF_PROG(cpu_deactivate, unsigned int cpu)
{
	if (on)
		went_offline(cpu);
	return 0;
}

SEC("fexit/sched_cpu_deactivate")
int BPF_PROG(cpu_deactivate_failed, unsigned int cpu, int error)
{
	if (on && error)
		came_online(cpu);
	return 0;
}

/*
 * An RT CPU lost its perf events when it went. It is an RT CPU again when artis
 * has opened new ones (cpu_watched).
 */
SEC("struct_ops/artis_cpu_online")
void BPF_PROG(artis_cpu_online, s32 cpu)
{
	if (is_rt(cpu) && (sys_enter_id || has_breakpoints))
		cpu_record(cpu)->unwatched = true;
	else
		came_online(cpu);
}

struct artis_watched {
	s32 cpu;
};

/* Called by artis, for an unwatched CPU. */
SEC("syscall")
int cpu_watched(struct artis_watched *args)
{
	struct artis_cpu *record = cpu_record(args->cpu);

	if (!record->unwatched)
		return 0;
	record->unwatched = false;
	came_online(args->cpu);
	return 0;
}

SEC("struct_ops/artis_cpu_offline")
void BPF_PROG(artis_cpu_offline, s32 cpu)
{
	went_offline(cpu);
}

#endif /* ARTIS_HOTPLUG_H */
