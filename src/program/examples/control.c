// SPDX-License-Identifier: GPL-2.0-only
/*
 * A control loop that asks to be admitted: control CPU BUDGET_US. It ends with the answer, or after
 * 20 periods of 1 ms. Built by: cc $(pkg-config --cflags artis) -o control control.c
 */
#define _GNU_SOURCE
#include <artis.h>
#include <sched.h>
#include <time.h>

int main(int count, char **words)
{
	struct artis_task task = { .period_ns = 1000000, .budget_ns = 200000, .cpu = -1 };
	struct timespec next;
	int answer;

	if (count > 1)
		task.cpu = atoi(words[1]);
	if (count > 2)
		task.budget_ns = strtoull(words[2], NULL, 10) * 1000;
	answer = artis_admit(&task);
	if (answer != ARTIS_ADMITTED)
		return answer < 0 ? ARTIS_ERROR : answer;
	printf("policy %d\n", sched_getscheduler(0) & ~SCHED_RESET_ON_FORK);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int job = 0; job < 20; job++) {
		next.tv_nsec += task.period_ns;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		/* here a job does its work */
	}
	if (artis_leave())
		return ARTIS_ERROR;
	printf("policy %d\n", sched_getscheduler(0) & ~SCHED_RESET_ON_FORK);
	return 0;
}
