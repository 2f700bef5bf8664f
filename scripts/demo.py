#!/usr/bin/env python3
"""Trains on 1 GiB under 128 MiB, then shows two jobs being refused."""
import json
import pathlib
import shlex
import subprocess
import sys
import time

import demo_data

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path("build/demo")
PLIMSOLL = "build/release/plimsoll"
JOB = FOLDER / "mlp1000.toml"
RUN = FOLDER / "run"
REFUSED = 3  # the exit code of a plan that does not fit

JOB_TEXT = """\
[model]
input = [1000]
layers = [
  { type = "dense", units = 128, activation = "relu" },
  { type = "dense", units = 1, activation = "sigmoid" },
]
[data]
source = { type = "npy", features = "x.npy", labels = "y.npy" }
residency = "stream"
pipeline = [ { stage = "shuffle" }, { stage = "batch" }, { stage = "prefetch" } ]
[train]
batch = 32
epochs = 1
optimizer = { type = "adam", learning_rate = 0.001 }
loss = "binary_crossentropy"
metrics = ["accuracy"]
precision = "f32"
seed = 1
[memory]
host = "128MiB"
"""


def title(text):
    print(f"\n=== {text}", flush=True)


def run(*arguments, wanted=0):
    """Shows and runs one command; anything but the wanted exit code ends."""
    command = [PLIMSOLL, *map(str, arguments)]
    print("$", shlex.join(command), flush=True)
    code = subprocess.run(command, check=False).returncode
    if code != wanted:
        sys.exit(f"demo: exit code {code}, not {wanted}")
    if wanted:
        print(f"(exit code {code})")


def mib(value):
    return "-" if value is None else f"{value / 2**20:10.3f} MiB"


def table(rows):
    print(f"  {'':<16}{'forecast':>14}{'measured':>14}{'apart':>18}")
    for name, forecast, measured in rows:
        apart = "" if measured is None else f"{measured - forecast:+,d} B"
        print(f"  {name:<16}{mib(forecast):>14}{mib(measured):>14}{apart:>18}")


def compare():
    """Forecast against measured, by purpose and in sum."""
    host = json.loads((RUN / "plan.json").read_text())["host"]
    summary = json.loads((RUN / "summary.json").read_text())
    forecast, measured = summary["forecast"], summary["measured"]
    table([(purpose, size, measured["accounts"][purpose])
           for purpose, size in host["accounts"].items() if size])
    print()
    table([
        ("planned pools", forecast["host_ledger_peak"],
         measured["host_ledger_peak"]),
        ("whole process", forecast["host_peak"], measured["host_rss_peak"]),
    ])
    print(f"  budget {mib(host['budget']).strip()}; "
          f"{summary['examples_per_second']:,.0f} examples/s; "
          f"{measured['allocations_after_first_step']} ledger allocations "
          "after the first step")
    if measured["host_rss_peak"] > host["budget"]:
        sys.exit("demo: the line did not hold")


def main():
    start = time.monotonic()
    title("A real data set: build/demo/x.npy and y.npy, 1 GiB")
    for path in demo_data.make(ROOT / FOLDER):
        print(f"  {path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    (ROOT / JOB).write_text(JOB_TEXT)

    title("What will it take? Nothing is allocated yet")
    run("plan", JOB)
    title("Train it: 1 GiB of data under 128 MiB")
    run("train", JOB, "--run-dir", RUN)
    title("Forecast against measured")
    compare()
    title("The naive way, the whole set in memory first, is refused")
    run("train", JOB, "--set", "data.residency=memory", "--run-dir",
        FOLDER / "refused", wanted=REFUSED)
    title("And so is a budget that is too small")
    run("train", JOB, "--host-memory", "16MiB", "--run-dir",
        FOLDER / "refused", wanted=REFUSED)
    print(f"\ndemo: done in {time.monotonic() - start:.0f} s; "
          f"the run is in {RUN}")


if __name__ == "__main__":
    main()
