"""Networks beside the peers: gradients, first steps, speed.

  python bench/peers/networks/run.py [--only gradients|overfit|speed]

A few minutes: gradients of the small networks, twenty steps of ResNet-50, and
the rate of the smallest network. Each program takes more: see their --help.
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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    failed = []
    for name in parser.parse_args().only or PROGRAMS:
        print(f"{name}:", flush=True)
        script, *arguments = PROGRAMS[name]
        if subprocess.call([sys.executable, HERE / script, *arguments]) != 0:
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
