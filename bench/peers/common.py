"""What every peer shares: the two jobs, their data, and the worker's loop."""

import json
import os
import sys
import time

BATCH = 32
ADAM = {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}

# `examples` keeps each set near 64 MiB: past the caches, yet small beside
# what importing a framework takes.
JOBS = {
    "mlp1000": {"layers": [1000, 128, 1], "loss": "binary", "examples": 16384},
    "linear100": {"layers": [100, 10], "loss": "squared", "examples": 163840},
}


def rss_bytes(field="VmRSS"):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def make_data(job):
    """Preloaded batches: features [steps, batch, n], labels [steps, batch, m]."""
    import numpy as np

    spec = JOBS[job]
    steps = spec["examples"] // BATCH
    rng = np.random.default_rng(1)
    shape = (steps, BATCH, spec["layers"][0])
    features = rng.random(shape, dtype=np.float32)
    out = (steps, BATCH, spec["layers"][-1])
    if spec["loss"] == "binary":
        labels = rng.integers(0, 2, out).astype(np.float32)
    else:
        labels = rng.random(out, dtype=np.float32)
    return features, labels


def make_parameters(job):
    """Keras's defaults: glorot_uniform kernels, zero biases."""
    import numpy as np

    rng = np.random.default_rng(2)
    widths = JOBS[job]["layers"]
    parameters = []
    for n_in, n_out in zip(widths, widths[1:]):
        limit = (6.0 / (n_in + n_out)) ** 0.5
        kernel = rng.uniform(-limit, limit, (n_in, n_out)).astype(np.float32)
        parameters += [kernel, np.zeros(n_out, np.float32)]
    return parameters


def serve(versions, import_rss, set_up):
    """Warms up, then runs one measured slice per "go" line on stdin.

    `set_up()` returns a function that trains over a part of the preloaded set
    and gives back (examples, loss) only after the work is really done.
    """
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print; the replies must stay clean

    def say(**values):
        print(json.dumps(values), file=reply, flush=True)

    try:
        run = set_up()
        first_loss = run()[1]
        start = time.perf_counter()
        while time.perf_counter() - start < 1.0:
            run()
    except Exception as problem:  # a variant that does not work is reported
        say(error=f"{type(problem).__name__}: {str(problem)[:300]}")
        return
    say(ready=True, versions=versions, first_loss=first_loss)
    for line in sys.stdin:
        if line.split()[0] != "go":
            break
        seconds = float(line.split()[1])
        best, examples, loss = 0.0, 0, 0.0
        cpu_start = time.process_time()
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            before = time.perf_counter()
            count, loss = run()
            best = max(best, count / (time.perf_counter() - before))
            examples += count
        mean = examples / (time.perf_counter() - start)
        # On one thread this hardly depends on who else uses the machine.
        per_cpu_second = examples / (time.process_time() - cpu_start)
        say(
            best=best,
            mean=mean,
            per_cpu_second=per_cpu_second,
            loss=loss,
            rss_peak_bytes=rss_bytes("VmHWM"),
            rss_import_bytes=import_rss,
            device_peak_bytes=getattr(run, "device_peak", None),
        )
