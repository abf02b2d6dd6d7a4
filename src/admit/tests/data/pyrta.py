# SPDX-License-Identifier: GPL-2.0-only
"""Writes pyrta.txt: bounds of 1,000 random sets under EDF, by pyRTA.

pip install response-time-analysis==0.1.1; python3 pyrta.py >pyrta.txt

A line is a set: the supply as period,budget,delay (0,0,0: the whole CPU), then for each task
period,jitter,cost,section,deadline,bound. The supply gives, after the delay, the budget of each
period, evenly. The bound is - where there is none below the horizon.
"""

import random

from response_time_analysis import edf
from response_time_analysis.model import (
    WCET, Deadline, FloatingNonPreemptive, FullyPreemptive, IdealProcessor, PeriodicWithJitter,
    RateDelayModel, Task, taskset,
)

HORIZON = 200_000
random.seed(51)

for number in range(1000):
    has_sections = number % 3 == 2
    whole = number % 4 == 0
    budget = random.randint(50, 95)
    delay = random.randint(0, 40)
    supply = IdealProcessor() if whole else RateDelayModel(100, budget, delay)
    count = random.randint(2, 6)
    share = random.uniform(0.4, 0.95) * (1 if whole else budget / 100)
    weights = [random.random() + 0.05 for _ in range(count)]
    rows = []
    for weight in weights:
        period = random.choice([20, 30, 40, 50, 60, 100, 120, 150, 200, 300])
        cost = max(1, int(share * weight / sum(weights) * period))
        jitter = random.choice([0, 0, random.randint(0, period)])
        section = random.randint(1, cost) if has_sections else 1
        deadline = random.randint(cost, 2 * period)
        rows.append((period, jitter, cost, section, deadline))
    tasks = [
        Task(
            PeriodicWithJitter(period, jitter),
            FloatingNonPreemptive(WCET(cost), section)
            if has_sections else FullyPreemptive(WCET(cost)),
            Deadline(deadline),
        )
        for period, jitter, cost, section, deadline in rows
    ]
    line = ["0,0,0" if whole else f"100,{budget},{delay}"]
    for task, row in zip(tasks, rows):
        found = edf.rta(taskset(*tasks), task, supply, horizon=HORIZON)
        bound = found.response_time_bound if found.bound_found() else "-"
        line.append(",".join(map(str, (*row, bound))))
    print(" ".join(line))
