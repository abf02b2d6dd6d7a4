/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer for each NRT CPU, which ends the slice of its task on time. sched_ext itself ends
 * slices at ticks, up to a tick too late; where many tasks wait, each of them pays that.
 *
 * A timer that is set is left alone when its task leaves the CPU early: it sees then that
 * the slice which it ends is another one, and goes on. So it is set once a slice at most.
 */
#ifndef ARTIS_SLICE_TIMER_H
#define ARTIS_SLICE_TIMER_H

struct slice_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ARTIS_CPUS_MAX);
	__type(key, u32);
	__type(value, struct slice_timer);
} slice_timers SEC(".maps");

static void set_slice_timer(struct artis_cpu *record, struct bpf_timer *timer, u64 in_ns)
{
	record->slice_timer_on = !bpf_timer_start(timer, in_ns, BPF_F_TIMER_CPU_PIN);
}

/* Do so many Linux tasks wait for @cpu, an NRT CPU, that slices end on time? */
static bool many_wait(const struct artis_cpu *record, s32 cpu)
{
	return artis_times_slice(linux_queued(false, llc_of(cpu)) + pinned_queued(cpu),
				 *online_at(record->llc, false));
}

/* In a softirq, so no task of this CPU begins to run meanwhile. */
static int slice_timer_fires(void *map, u32 *key, struct slice_timer *slice)
{
	s32 cpu = *key;
	struct artis_cpu *record = cpu_record(cpu);
	s64 left_ns;

	record->slice_timer_on = false;
	/* the last look may be of just now, if this slice was a short one */
	record->waiting_looked_ns = 0;
	/* the kernel moves the timers of a CPU that goes offline */
	if (!on || !record->slice_ends_ns || cpu != (s32)bpf_get_smp_processor_id() ||
	    !many_wait(record, cpu))
		return 0;
	left_ns = record->slice_ends_ns - scx_bpf_now();
	if (left_ns > 0) {
		set_slice_timer(record, &slice->timer, left_ns);
		return 0;
	}
	record->slice_ends_ns = 0;
	if (artis_is_ours(class_on(cpu)))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

/* A task begins to run on @cpu, an NRT CPU: ends its slice on time, if many wait. */
static void time_slice(struct artis_cpu *record, const struct task_ctx *t, enum artis_class class,
		       s32 cpu, u64 now)
{
	struct slice_timer *slice;
	u64 slice_ns;
	u32 key = cpu;

	record->slice_ends_ns = 0;
	if (!has_timers || !artis_may_time_slice(class))
		return;
	/* the timer asks how many wait when it fires */
	if (!record->slice_timer_on &&
	    (!artis_looks_at_waiting(&record->waiting_looked_ns, now) || !many_wait(record, cpu)))
		return;
	slice_ns = artis_timed_slice_ns(&record->running,
					artis_request(t->usual_ns, t->burst_ns));
	record->slice_ends_ns = now + slice_ns;
	if (record->slice_timer_on)
		return;
	slice = bpf_map_lookup_elem(&slice_timers, &key);
	if (slice)
		set_slice_timer(record, &slice->timer, slice_ns);
}

static s32 create_slice_timers(void)
{
	u32 cpu;
	s32 err = 0;

	if (!has_timers)
		return 0;
	bpf_for(cpu, 0, nr_cpus) {
		u32 key = cpu;
		struct slice_timer *slice = bpf_map_lookup_elem(&slice_timers, &key);

		if (!slice || err)
			continue;
		err = bpf_timer_init(&slice->timer, &slice_timers, CLOCK_MONOTONIC);
		if (!err)
			err = bpf_timer_set_callback(&slice->timer, slice_timer_fires);
	}
	return err;
}

#endif /* ARTIS_SLICE_TIMER_H */
