"""What the eager peers share: the cases, and the worker's loop."""

import json
import os
import sys
import time

BATCH, FEATURES, RATE = 32, 100, 0.01
SLICES = 20
# Calls of a slice, as bench_eager counts them.
CALLS = {"add": 20000, "matmul": 20000, "linear1": 2000, "linear10": 2000}


def make_step_data(outputs):
    """Features, labels and the first weights of a step of linear100."""
    import numpy as np

    rng = np.random.default_rng(1)
    x = rng.random((BATCH, FEATURES), dtype=np.float32)
    y = rng.random((BATCH, outputs), dtype=np.float32)
    w = 0.1 * rng.standard_normal((FEATURES, outputs), dtype=np.float32)
    return x, y, w


def nanoseconds(calls, work):
    """Of one call: the fastest of some slices, as bench_eager's."""
    best = float("inf")
    for _ in range(SLICES):
        start = time.perf_counter_ns()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter_ns() - start) / calls)
    return best


def serve(version, set_up):
    """Answers each line on stdin with one round: {case: nanoseconds}.

    `set_up()` returns {case: function of one call}. Slow callers make fewer
    calls a slice, so that a round takes seconds.
    """
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print; the replies must stay clean

    def say(values):
        print(json.dumps(values), file=reply, flush=True)

    works = set_up()
    for work in works.values():
        for _ in range(200):
            work()
    say({"version": version})
    for _ in sys.stdin:
        say({case: nanoseconds(CALLS[case] // 10, work)
             for case, work in works.items()})
