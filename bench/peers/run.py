"""Runs the same jobs side by side: TensorFlow, PyTorch, JAX and Plimsoll.

Two of them train; the others are input pipelines alone (data_run.py).

Every framework runs in its own process on the same cores. First each of its
variants is tried; then the best of each take turns, round by round, so that
whatever else the machine does is shared. Figures are the best round's.
"""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys

import common
import data_common
import data_run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FRAMEWORKS = ("tensorflow", "torch", "jax")


class Worker:
    """One framework's variant in a process of its own."""

    def __init__(self, framework, variant, job, threads, kind="peer", more=()):
        self.framework, self.variant = framework, variant
        self.rounds = []
        script = HERE / f"{kind}_{framework}.py"
        self.process = subprocess.Popen(
            [sys.executable, script, job, variant, str(threads), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.hello = self.read()
        self.error = self.hello.get("error")

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process died"}

    def measure(self, seconds):
        if self.error:
            return
        try:
            self.process.stdin.write(f"go {seconds}\n")
            self.process.stdin.flush()
            answer = self.read()
        except OSError as problem:
            answer = {"error": str(problem)}
        self.error = answer.get("error")
        if not self.error:
            self.rounds.append(answer)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def best(self):
        return max((r["best"] for r in self.rounds), default=0.0)

    def row(self):
        last = self.rounds[-1]
        peak, start = last["rss_peak_bytes"], last["rss_import_bytes"]
        return {
            "name": self.framework,
            "variant": self.variant,
            "version": next(iter(self.hello["versions"].values())),
            "examples_per_second": self.best(),
            "mean_examples_per_second": max(r["mean"] for r in self.rounds),
            "examples_per_cpu_second": max(
                r["per_cpu_second"] for r in self.rounds
            ),
            "rss_peak_bytes": peak,
            "rss_net_of_import_bytes": peak - start,
            "loss": last["loss"],
        }


def run_ours(binary, job, threads):
    command = [binary, "--job", job, "--threads", str(threads), "--json"]
    text = subprocess.check_output(command, text=True)
    return json.loads(text.strip().splitlines()[-1])


def ours_row(rounds):
    best = max(rounds, key=lambda r: r["examples_per_second"])
    floor = best.get("floor_seconds")
    return {
        "name": "plimsoll",
        "variant": "planned",
        "version": "",
        "examples_per_second": best["examples_per_second"],
        "rss_peak_bytes": max(r["rss_peak_bytes"] for r in rounds),
        "rss_net_of_import_bytes": None,
        "step_over_floor": best["step_seconds"] / floor if floor else None,
    }


def choose(job, threads, seconds, only, log):
    """The fastest variant of each framework, still running."""
    chosen, failed = [], []
    for framework in FRAMEWORKS:
        if only and framework not in only:
            continue
        best = None
        for variant in importlib.import_module(f"peer_{framework}").VARIANTS:
            worker = Worker(framework, variant, job, threads)
            worker.measure(seconds)
            if worker.error:
                log(f"  {framework} {variant}: {worker.error}")
                failed.append([framework, variant, worker.error])
                worker.stop()
                continue
            log(f"  {framework} {variant}: {worker.best():,.0f} examples/s")
            if best and best.best() >= worker.best():
                worker.stop()
                continue
            if best:
                best.stop()
            best = worker
        if best:
            chosen.append(best)
    return chosen, failed


def run_job(job, options, log):
    log(f"{job}: trying each framework's variants")
    workers, failed = choose(
        job, options.threads, options.seconds, options.only, log
    )
    ours = []
    for number in range(options.rounds):
        for worker in workers:
            worker.measure(options.seconds)
        if options.ours:
            ours.append(run_ours(options.ours, job, options.threads))
        log(f"{job}: round {number + 1} of {options.rounds}")
    rows = [w.row() for w in workers if w.rounds]
    for worker in workers:
        worker.stop()
    result = {"job": job, "threads": options.threads, "peers": rows}
    result["failed"] = failed
    if ours:
        result["ours"] = ours_row(ours)
        fastest = max(r["examples_per_second"] for r in rows)
        smallest = min(r["rss_peak_bytes"] for r in rows)
        mine = result["ours"]
        result["speed_over_fastest_peer"] = (
            mine["examples_per_second"] / fastest
        )
        result["rss_of_smallest_peer"] = mine["rss_peak_bytes"] / smallest
    return result


def mib(size):
    return "-" if size is None else f"{size / 2**20:,.0f} MiB"


def table(result):
    lines = [f"{result['job']}, {result['threads']} thread(s)"]
    head = ("", "variant", "examples/s", "peak RSS", "net of import")
    shape = "{:<12} {:<22} {:>12} {:>12} {:>14}"
    lines.append(shape.format(*head))
    rows = result["peers"] + ([result["ours"]] if "ours" in result else [])
    for row in sorted(rows, key=lambda r: -r["examples_per_second"]):
        lines.append(
            shape.format(
                row["name"],
                row["variant"],
                f"{row['examples_per_second']:,.0f}",
                mib(row["rss_peak_bytes"]),
                mib(row["rss_net_of_import_bytes"]),
            )
        )
    if "ours" in result:
        lines.append(
            f"plimsoll: {result['speed_over_fastest_peer']:.2f} times the "
            f"fastest peer, {result['rss_of_smallest_peer']:.2f} of the "
            "smallest peer's peak"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cores = len(os.sched_getaffinity(0))
    jobs = (*common.JOBS, *data_common.CASES)
    parser.add_argument("--job", choices=jobs, action="append")
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", action="append", choices=FRAMEWORKS)
    parser.add_argument("--json", metavar="FILE", help="also write JSON here")
    default = ROOT / "build" / "release" / "bench" / "bench_step"
    parser.add_argument("--ours", metavar="BINARY", default=default)
    default = default.with_name("bench_data")
    parser.add_argument("--ours-data", metavar="BINARY", default=default)
    default = ROOT / "build" / "bench-data"
    parser.add_argument("--data-folder", metavar="FOLDER", default=default)
    parser.add_argument("--npy-rows", type=int, default=10_000_000)
    options = parser.parse_args()
    if not pathlib.Path(options.ours_data).exists():
        print(f"no {options.ours_data}: peers only", file=sys.stderr)
        options.ours_data = None
    if not pathlib.Path(options.ours).exists():
        print(f"no {options.ours}: peers only", file=sys.stderr)
        options.ours = None
    # The one limit that binds every framework's pools alike.
    usable = sorted(os.sched_getaffinity(0))[: options.threads]
    os.sched_setaffinity(0, usable)
    results = []

    def log(text):
        print(text, file=sys.stderr)

    for job in options.job or jobs:
        if job in data_common.CASES:
            results.append(data_run.run_case(job, options, log, Worker))
            text = data_run.table(results[-1])
        else:
            results.append(run_job(job, options, log))
            text = table(results[-1])
        print(text + "\n", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
