"""Ops computed at once, beside PyTorch's and TensorFlow's eager ones.

  python bench/peers/eager.py [--threads 2] [--rounds 9]

Each framework runs in its own process on the same cores. They take turns,
round by round; of each round the fastest slice counts, of the rounds the
median.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import eager_worker

HERE = pathlib.Path(__file__).resolve().parent
BINARY = HERE.parent.parent / "build" / "release" / "bench" / "bench_eager"
NAMES = {
    "add": "32 x 32 add, us",
    "matmul": "32 x 32 matmul, us",
    "linear1": "tape, 100 to 1, examples/s",
    "linear10": "tape, 100 to 10 and bias, examples/s",
}


class Peer:
    def __init__(self, framework, threads):
        self.rounds = []
        self.process = subprocess.Popen(
            [sys.executable, HERE / f"eager_{framework}.py", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.name = f"{framework} {self.read()['version']}"

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[1]} died: is it installed?")
        return json.loads(line)

    def measure(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.rounds.append(self.read())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    name = "plimsoll"

    def __init__(self, binary, threads):
        self.command = [binary, "--json", "--threads", str(threads)]
        self.rounds = []

    def measure(self):
        answer = json.loads(subprocess.check_output(self.command, text=True))
        self.rounds.append({case: answer[f"{case}_ns"] for case in NAMES})

    def stop(self):
        pass


def median(one, case):
    return statistics.median(r[case] for r in one.rounds)


def figure(case, ns):
    if case.startswith("linear"):
        return f"{eager_worker.BATCH * 1e9 / ns:,.0f}"
    return f"{ns / 1e3:.2f}"


def table(ours, peers):
    lines = ["| | " + " | ".join(one.name for one in (ours, *peers))
             + " | faster by |",
             "| --- |" + " --- |" * (2 + len(peers))]
    for case, name in NAMES.items():
        mine = median(ours, case)
        theirs = [median(peer, case) for peer in peers]
        figures = [figure(case, ns) for ns in (mine, *theirs)]
        ratios = ", ".join(f"{ns / mine:.1f}" for ns in theirs)
        lines.append(f"| {name} | " + " | ".join(figures) + f" | {ratios} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ours", metavar="BINARY", default=BINARY)
    options = parser.parse_args()
    # The one limit that binds every framework's pools alike.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    ours = Ours(options.ours, options.threads)
    peers = [Peer(name, options.threads) for name in ("torch", "tensorflow")]
    for _ in range(options.rounds):
        for one in (ours, *peers):
            one.measure()
    for one in (ours, *peers):
        one.stop()
    loads = "/".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"{options.threads} threads, {options.rounds} rounds, load {loads}\n")
    print(table(ours, peers))


if __name__ == "__main__":
    main()
