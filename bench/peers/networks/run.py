"""Networks beside the peers: gradients, first steps, speed.

  python bench/peers/networks/run.py [--only gradients|overfit|speed] [--full]

A few minutes: gradients of the small networks, twenty steps of ResNet-50, and
the rate of the smallest network. With --full twenty: a hundred steps of
ResNet-50 and GPT-2, and the rates of both and of conv28 in f32 and bf16. Each
program takes more: see their --help.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SMALL = sorted((HERE.parents[2] / "tests" / "train" / "networks").glob("*.toml"))
PROGRAMS = {
    "gradients": ("compare_gradients.py", *map(str, SMALL)),
    "overfit": ("overfit.py", "resnet50", "--steps", "20"),
    "speed": ("speed.py", "conv28", "--rounds", "1"),
}


FULL = {
    "gradients": PROGRAMS["gradients"],
    "overfit": ("overfit.py", "resnet50", "gpt2"),
    "speed": ("speed.py", "conv28", "resnet50:8", "gpt2:1x256", "--precision",
              "f32,bf16"),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--full", action="store_true")
    chosen = parser.parse_args()
    programs = FULL if chosen.full else PROGRAMS
    failed = []
    for name in chosen.only or programs:
        print(f"{name}:", flush=True)
        script, *arguments = programs[name]
        if subprocess.call([sys.executable, HERE / script, *arguments]) != 0:
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
