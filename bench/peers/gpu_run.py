"""mlp1000 and linear100 on a GPU beside PyTorch and JAX, which must be there.

  python bench/peers/gpu_run.py --ours build/release/bench/bench_gpu

Each in a process of its own; they take turns, round by round. A step is 32
examples from host memory; times are those of the best round.
"""

import argparse
import importlib
import re
import subprocess

import common
from run import Worker


def our_step(program, job):
    """Microseconds, through the shuffle of the whole set and prefetch."""
    said = subprocess.run(
        [program, "--job", job], check=True, capture_output=True, text=True
    ).stdout
    return float(re.search(r"([\d.]+) us  a step through shuffle", said)[1])


def compare(job, program, rounds, seconds):
    workers = [
        Worker(framework, variant, job, 1, "gpu")
        for framework in ("torch", "jax")
        for variant in importlib.import_module(f"gpu_{framework}").VARIANTS
    ]
    ours = []
    for _ in range(rounds):
        ours.append(our_step(program, job))
        for worker in workers:
            worker.measure(seconds)
    for worker in workers:
        worker.stop()
    print(f"{job}, microseconds a step of {common.BATCH}, host resident peak")
    print(f"  {'plimsoll':24}{min(ours):10.1f}")
    for worker in workers:
        name = f"{worker.framework} {worker.variant}"
        if worker.error:
            print(f"  {name:24}{'-':>10}  {worker.error}")
            continue
        microseconds = common.BATCH / worker.best() * 1e6
        peak = worker.rounds[-1]["rss_peak_bytes"] / 1e6
        print(f"  {name:24}{microseconds:10.1f}{peak:10.0f} MB")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ours", default="build/release/bench/bench_gpu")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    for job in common.JOBS:
        compare(job, arguments.ours, arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
