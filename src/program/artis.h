/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs that ask themselves: the calling thread becomes an admitted real-time task, or
 * learns why not.
 *
 * The analysis and the register are those of the program artis, which is started for it
 * (artis run rt0 --pid ... --thread); so there is one answer for everybody. The environment
 * variable ARTIS names the program, where it is not artis on the search path. Needs the rights of
 * artis run rt0. What artis has to say goes to standard error.
 */
#ifndef ARTIS_H
#define ARTIS_H

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Answers of artis_admit(). */
enum {
	ARTIS_ADMITTED = 0,
	ARTIS_ERROR = 1,	/* artis could not do it; -1: it could not be started, see errno */
	ARTIS_REFUSED = 2,	/* a deadline could be missed; the thread is as it was */
	ARTIS_UNKNOWN = 3,	/* it is not known whether one could be; the thread is as it was */
	ARTIS_USAGE = 64,	/* the numbers are wrong */
};

/* What the calling thread asks for; times in nanoseconds. */
struct artis_task {
	unsigned long long period_ns;	/* the least time between two jobs */
	unsigned long long budget_ns;	/* the longest execution of a job */
	unsigned long long deadline_ns;	/* 0: the period */
	int cpu;			/* -1: the first RT CPU on which it fits */
	const char *policy;		/* "rm", "dm", "edf"; NULL: as the CPU's tasks, or rm */
	const char *on_overrun;		/* "report", "demote", "end"; NULL: nobody watches */
};

/* Starts artis with these words, and gives its exit status; -1 where it cannot be started. */
static inline int artis_run(const char *words[])
{
	extern char **environ;
	const char *program = getenv("ARTIS");
	int error, status;
	pid_t pid;

	words[0] = program ? program : "artis";
	error = posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)words, environ);
	if (error) {
		errno = error;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ARTIS_ERROR;
}

/* Asks for the calling thread: one of the answers above. */
static inline int artis_admit(const struct artis_task *task)
{
	char tid[24], period[32], budget[32], deadline[32], cpu[16];
	unsigned long long deadline_ns = task->deadline_ns ? task->deadline_ns : task->period_ns;
	const char *words[] = { NULL, "run", "rt0", "--quiet", "--thread", "--pid", tid, "--period",
				period, "--budget", budget, "--deadline", deadline,
				NULL, NULL, NULL, NULL, NULL, NULL, NULL };
	int count = 13;

	snprintf(tid, sizeof(tid), "%ld", (long)syscall(SYS_gettid));
	snprintf(period, sizeof(period), "%lluns", task->period_ns);
	snprintf(budget, sizeof(budget), "%lluns", task->budget_ns);
	snprintf(deadline, sizeof(deadline), "%lluns", deadline_ns);
	snprintf(cpu, sizeof(cpu), "%d", task->cpu);
	if (task->cpu >= 0)
		words[count++] = "--cpu", words[count++] = cpu;
	if (task->policy)
		words[count++] = "--policy", words[count++] = task->policy;
	if (task->on_overrun)
		words[count++] = "--on-overrun", words[count++] = task->on_overrun;
	return artis_run(words);
}

/* Makes the calling thread a normal task, which is admitted no more; 0, or as artis_admit(). */
static inline int artis_leave(void)
{
	char tid[24];
	const char *words[8] = { NULL, "run", "linux", "--quiet", "--thread", "--pid", tid };

	snprintf(tid, sizeof(tid), "%ld", (long)syscall(SYS_gettid));
	return artis_run(words);
}

#endif /* ARTIS_H */
