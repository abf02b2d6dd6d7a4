// SPDX-License-Identifier: GPL-2.0-only
/*
 * A work item that keeps a CPU's own workqueue busy: an injected culprit for the
 * tests of the flight recorder. Says when it ran.
 */
#include "../../src/bpf/kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* How long an item lasts. */
const volatile u64 work_ns = 800000;

/* Of the last item; CLOCK_MONOTONIC. */
u64 begin_ns;
u64 end_ns;
u64 items;

struct bpf_wq {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct element {
	struct bpf_wq work;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct element);
} works SEC(".maps");

extern int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags) __ksym __weak;
extern int bpf_wq_start(struct bpf_wq *wq, unsigned int flags) __ksym __weak;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq,
				    int (*callback)(void *map, int *key, void *value),
				    unsigned int flags, void *aux) __ksym __weak;

static long until_it_is_over(u64 round, u64 *until_ns)
{
	return bpf_ktime_get_ns() >= *until_ns;
}

static int worked(void *map, int *key, void *value)
{
	u64 began_ns = bpf_ktime_get_ns();
	u64 until_ns = began_ns + work_ns;

	bpf_loop(1 << 20, until_it_is_over, &until_ns, 0);
	begin_ns = began_ns;
	end_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&items, 1);
	return 0;
}

/* Queues the item on the CPU where it is called. */
SEC("syscall")
int queue(void *ctx)
{
	u32 key = 0;
	struct element *element = bpf_map_lookup_elem(&works, &key);

	if (!element)
		return 1;
	/* the second time it says that it is there */
	bpf_wq_init(&element->work, &works, 0);
	if (bpf_wq_set_callback_impl(&element->work, worked, 0, NULL))
		return 2;
	return bpf_wq_start(&element->work, 0) ? 3 : 0;
}
