/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy of ARTiS: every rule and every number, as pure functions.
 *
 * The BPF program measures, calls these functions and obeys. The same text is
 * compiled for unit tests and for everybody else who must decide as the scheduler
 * does. So nothing here reads the machine. A measurement that is expensive is asked
 * for in a second call, and only when the first answer says that it matters.
 *
 * The rule that everything here serves: RT1+ and Linux tasks run on an RT CPU
 * only in user mode, because only there can RT0 preempt them at once.
 *
 * Each subject is a file of the folder policy/, and uses those before it.
 *
 * Theory: Piel, Marquet, Soula, Dekeyser, "Real-Time Systems for
 * Multi-Processor Architectures", section 2.
 */
#ifndef ARTIS_POLICY_H
#define ARTIS_POLICY_H

/* The BPF program has these types from kernel.h. */
#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#endif

#include "policy/numbers.h"
#include "policy/task.h"
#include "policy/weight.h"
#include "policy/vtime.h"
#include "policy/running.h"
#include "policy/promote.h"
#include "policy/queue.h"
#include "policy/room.h"
#include "policy/seat.h"
#include "policy/next.h"
#include "policy/switch.h"
#include "policy/stay.h"
#include "policy/entry.h"
#include "policy/group.h"
#include "policy/cache.h"
#include "policy/limit.h"

#endif /* ARTIS_POLICY_H */
