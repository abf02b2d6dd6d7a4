/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU asks for its next task: dispatch. It takes the steps that artis_step() of the
 * policy names, one after the other, until one finds a task.
 */
#ifndef ARTIS_SERVE_H
#define ARTIS_SERVE_H

static __always_inline bool try_step(const struct search *s, enum artis_step step)
{
	u32 how = s->rt ? SEARCH_RT : 0;

	switch (step) {
	case ARTIS_STEP_END:
		return true;
	case ARTIS_STEP_KTHREAD_HERE:
		return kthreads_queued(s->cpu) &&
		       scx_bpf_dsq_move_to_local(DSQ_KTHREAD + s->cpu, 0);
	case ARTIS_STEP_KTHREAD_SHARED:
		return take_held(s->beset, s->now) ||
		       (waiting(DSQ_NRT_KTHREAD) && take(DSQ_NRT_KTHREAD, 0, s->now));
	case ARTIS_STEP_RT1:
		return is_rt1_turn(s) &&
		       take_ordered(s->prev, s->stays, s->cpu, how | SEARCH_RT1, s->now);
	case ARTIS_STEP_FAIR:
		return (has_llcs() && s->looks &&
			relieve(s->prev, s->stays, s->cpu, how, s->now)) ||
		       take_ordered(s->prev, s->stays, s->cpu, how, s->now);
	case ARTIS_STEP_PINNED:
		return (pinned_rt1_queued(s->cpu) &&
			scx_bpf_dsq_move_to_local(DSQ_PINNED_RT1 + s->cpu, 0)) ||
		       (pinned_queued(s->cpu) &&
			scx_bpf_dsq_move_to_local(DSQ_PINNED + s->cpu, 0));
	case ARTIS_STEP_RT1_LEFT:
		return has_rt1(s) &&
		       take_ordered(s->prev, s->stays, s->cpu, how | SEARCH_RT1, s->now);
	case ARTIS_STEP_GO_ON:
		if (!s->stays)
			return false;
		go_on(s->record, s->prev, s->stays, artis_slice_ns(s->rt));
		return true;
	case ARTIS_STEP_FAR:
		return has_llcs() && take_far(s->cpu, s->rt, s->enq_flags, s->now);
	case ARTIS_STEP_STOPPED:
		return waiting(DSQ_STOPPED) && s->beset &&
		       scx_bpf_dsq_move_to_local(DSQ_STOPPED, 0);
	}
	return true;
}

/*
 * One step after the other. Written out, because then the steps are known when this is
 * compiled, and no choice of them is left to make.
 */
static __always_inline bool serve(const struct search *s, enum artis_service service)
{
#define STEP(nth) try_step(s, artis_step(service, nth))
	return STEP(0) || STEP(1) || STEP(2) || STEP(3) || STEP(4) || STEP(5) || STEP(6) ||
	       STEP(7) || STEP(8);
#undef STEP
}

/*
 * Lets @prev, which may go on, do so although its slice is over, because RT0's timer would
 * meet the switch: until RT0 has gone, see ops.running(), or to the next tick.
 */
static bool put_off(struct artis_cpu *record, struct task_struct *prev, struct task_ctx *t, u64 due)
{
	if (!artis_finds(due, bpf_ktime_get_ns(), record->switch_ns) ||
	    stay(record, prev, ARTIS_EVENT_OVER) != ARTIS_ACTION_PROLONG)
		return false;
	keep(record, t);
	return true;
}

SEC("struct_ops/artis_dispatch")
void BPF_PROG(artis_dispatch, s32 cpu, struct task_struct *prev)
{
	struct artis_cpu *record = cpu_record(cpu);
	enum artis_service service = artis_service(record->rt, record->offline, nr_nrt_online);
	/* one that sleeps is not looked at */
	struct task_ctx *t = prev && is_runnable(prev) ? task_ctx(prev) : NULL;
	u32 how = service == ARTIS_SERVICE_RT ? SEARCH_RT : 0;
	struct search search = search_of(prev, NULL, cpu, how, clock_of(cpu));

	search.beset = is_beset(cpu);
	if (t && may_go_on(record, prev, t)) {
		if (service == ARTIS_SERVICE_RT && put_off(record, prev, t, next_timer(cpu)))
			return;
		search.stays = t;
		if (search.beset)
			t->state = artis_state_running(t->state, false);
		compare(&search);
	}
	/* artis, which lets them on, is stopped itself */
	if (waiting(DSQ_STOPPED) && artis_is_neglected(search.now, looked_ns) &&
	    scx_bpf_dsq_move_to_local(DSQ_STOPPED, 0))
		return;
	record->chosen = true;
	search.looks = has_llcs() && artis_looks_far(&record->looked_ns, search.now);

	if (service == ARTIS_SERVICE_NRT) {
		serve(&search, ARTIS_SERVICE_NRT);
		if (!search.stays && !local_queued(cpu)) {
			if (t && artis_goes_on_alone(t->state)) {
				go_on(record, prev, t, artis_slice_ns(false));
				return;
			}
			record->served = 0;
			if (!record->offline)
				idles(record, true);
		}
		return;
	}
	if (!prev || record->marked_pid != (u32)prev->pid)
		begin_switch(record);
	if (service == ARTIS_SERVICE_RT_OFFLINE) {
		serve(&search, ARTIS_SERVICE_RT_OFFLINE);
		return;
	}
	serve(&search, ARTIS_SERVICE_RT);
	if (!search.stays && !local_queued(cpu)) {
		record->served = 0;
		pass_on_kthreads();
	}
}

#endif /* ARTIS_SERVE_H */
