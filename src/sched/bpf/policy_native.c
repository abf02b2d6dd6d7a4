/* SPDX-License-Identifier: GPL-2.0-only */
/* policy.h for native callers: its functions are static inline, these have names to link to. */
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#include "policy.h"

/* The numbers, so that a test speaks of them and not of copies. */
const u64 artis_native_slice_nrt_ns = ARTIS_SLICE_NRT_NS;
const u64 artis_native_slice_rt_ns = ARTIS_SLICE_RT_NS;
const u64 artis_native_level_ns = ARTIS_RT1_LEVEL_NS;
const u64 artis_native_debt_slices = ARTIS_DEBT_SLICES;
const u64 artis_native_migration_ns = ARTIS_MIGRATION_NS;
const u64 artis_native_pause_ns_max = ARTIS_PAUSE_NS_MAX;
const u64 artis_native_pause_rt1_ns_max = ARTIS_PAUSE_RT1_NS_MAX;
const u64 artis_native_hand_back_ns = ARTIS_HAND_BACK_NS;
const u64 artis_native_rt_wait_ns_max = ARTIS_RT_WAIT_MAX_NS;
const u64 artis_native_rt_queue_max = ARTIS_RT_QUEUE_MAX;
const u64 artis_native_rt1_phase_ns = ARTIS_RT1_PHASE_NS;
const u64 artis_native_others_phase_ns = ARTIS_OTHERS_PHASE_NS;

u32 artis_native_classify(u32 policy, bool kthread)
{
	return artis_classify(policy, kthread);
}

u32 artis_native_rt1_level(u32 static_prio)
{
	return artis_rt1_level(static_prio);
}

u64 artis_native_rt1_key(u32 level, u64 now_ns)
{
	return artis_rt1_key(level, now_ns);
}

u64 artis_native_vtime_charge(u64 ran_ns, u32 weight)
{
	return artis_vtime_charge(ran_ns, weight);
}

u64 artis_native_vtime_place(u64 vtime, u64 side_now, u64 slice_ns, u32 weight, bool crossed)
{
	return artis_vtime_place(vtime, side_now, slice_ns, weight, crossed);
}

void artis_native_calls_note(struct artis_calls *calls, u64 ran_ns, u32 entries)
{
	artis_calls_note(calls, ran_ns, entries);
}

u64 artis_native_next_entry_ns(const struct artis_calls *calls)
{
	return artis_next_entry_ns(calls);
}

bool artis_native_look(u32 class, bool slice_over, const struct artis_side *rt)
{
	return artis_look(class, slice_over, rt);
}

u32 artis_native_promote(u32 class, const struct artis_calls *calls,
			 const struct artis_trial *trial, u64 now_ns, const struct artis_side *rt,
			 const struct artis_side *nrt)
{
	return artis_promote(class, calls, trial, now_ns, rt, nrt);
}

void artis_native_trial_ended(struct artis_trial *trial, u32 class, u64 now_ns, u64 stayed_ns)
{
	artis_trial_ended(trial, class, now_ns, stayed_ns);
}

bool artis_native_may_try(const struct artis_trial *trial, u64 now_ns)
{
	return artis_may_try(trial, now_ns);
}

bool artis_native_stays_rt(u32 class, const struct artis_side *rt, const struct artis_side *nrt)
{
	return artis_stays_rt(class, rt, nrt);
}

void artis_native_turn_reset(struct artis_turn *turn, u64 now_ns)
{
	artis_turn_reset(turn, now_ns);
}

bool artis_native_others_turn(struct artis_turn *turn, u64 now_ns)
{
	return artis_others_turn(turn, now_ns);
}

bool artis_native_hand_back(u64 now_ns, u64 displaced_ns)
{
	return artis_hand_back(now_ns, displaced_ns);
}

bool artis_native_finds(u64 due_ns, u64 now_ns, u64 takes_ns)
{
	return artis_finds(due_ns, now_ns, takes_ns);
}

void artis_native_switch_note(u64 *switch_ns, u64 took_ns)
{
	artis_switch_note(switch_ns, took_ns);
}

bool artis_native_may_pass_over(u64 now_ns, u64 runnable_at_ns)
{
	return artis_may_pass_over(now_ns, runnable_at_ns);
}

bool artis_native_waited_for_rt(u64 now_ns, u64 since_ns)
{
	return artis_waited_for_rt(now_ns, since_ns);
}

bool artis_native_look_for_waiting(u64 *looked_ns, u64 now_ns)
{
	return artis_look_for_waiting(looked_ns, now_ns);
}
