# SPDX-License-Identifier: GPL-2.0-only
"""Writes jobs.txt: when each job of 200 random sets ends, by SimSo.

pip install simso==0.8.5; python3 jobs.py >jobs.txt

A line is a set: policy, CPUs, and "global" or "parts", then for each task period, work, CPU (- where
it may use all) and the ends of its jobs in the first 60 ms, all in us: period,work,cpu:end+end+...

The policies are EDF, RM (rate monotonic) and FP (fixed priorities, the first task the highest). No
two jobs of an EDF set have the same deadline, and no two tasks of an RM set the same period: else
the order of equals would be compared, on which the two need not agree.
"""

import contextlib
import io
import random

from simso.configuration import Configuration
from simso.core import Model

LENGTH_US = 60_000
random.seed(52)


def draw(cpus):
    count = random.randint(2, 3 + 2 * cpus)
    load = random.uniform(0.4, 0.9) * cpus
    weights = [random.random() + 0.05 for _ in range(count)]
    rows = []
    for weight in weights:
        period = random.randint(2_000, 20_000)
        share = min(load * weight / sum(weights), 0.9)
        rows.append((period, max(50, int(share * period))))
    return rows


def is_clear(policy, rows):
    periods = [period for period, _ in rows]
    if policy != "EDF":
        return len(set(periods)) == len(periods)
    deadlines = [at for period in periods for at in range(period, 2 * LENGTH_US, period)]
    return len(set(deadlines)) == len(deadlines)


def pack(cpus, rows):
    """The CPU with the least load takes the next task."""
    loads = [0.0] * cpus
    places = []
    for period, work in rows:
        place = min(range(cpus), key=lambda cpu: loads[cpu])
        loads[place] += work / period
        places.append(place)
    return places if max(loads) <= 1 else None


def simulate(policy, cpus, rows):
    configuration = Configuration()
    configuration.duration = LENGTH_US * 1000
    configuration.cycles_per_ms = 1_000_000
    for number, (period, work) in enumerate(rows):
        configuration.add_task(
            name=f"T{number}", identifier=number + 1, period=period / 1000, activation_date=0,
            wcet=work / 1000, deadline=period / 1000, abort_on_miss=False,
            data={"priority": 1000 - number})
    for cpu in range(cpus):
        configuration.add_processor(name=f"C{cpu}", identifier=cpu + 1)
    configuration.scheduler_info.clas = f"simso.schedulers.{policy}"
    configuration.check_all()
    model = Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()):
        model.run_model()
    ends = []
    for task in model.task_list:
        of_task = [job.end_date for job in task.jobs if job.end_date is not None]
        ends.append([round(end / 1000) for end in of_task if end < LENGTH_US * 1000])
    return ends


def parts(policy, cpus, rows):
    places = pack(cpus, rows)
    if places is None:
        return None
    ends = [None] * len(rows)
    for cpu in range(cpus):
        own = [number for number, place in enumerate(places) if place == cpu]
        if not own:
            continue
        found = simulate(policy, 1, [rows[number] for number in own])
        for number, of_task in zip(own, found):
            ends[number] = of_task
    return places, ends


made = 0
while made < 200:
    policy = ["EDF", "RM", "FP"][made % 3]
    cpus = [1, 2, 4, 3][made // 3 % 4]
    in_parts = cpus > 1 and made // 12 % 2 == 1
    rows = draw(cpus)
    if not is_clear(policy, rows):
        continue
    if in_parts:
        found = parts(policy, cpus, rows)
        if found is None:
            continue
        places, ends = found
    else:
        places, ends = ["-"] * len(rows), simulate(policy, cpus, rows)
    words = [
        f"{period},{work},{place}:" + "+".join(map(str, of_task))
        for (period, work), place, of_task in zip(rows, places, ends)
    ]
    print(policy, cpus, "parts" if in_parts else "global", *words)
    made += 1
