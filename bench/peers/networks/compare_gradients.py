"""Loss and gradients beside PyTorch's, from the same weights and examples.

  python bench/peers/networks/compare_gradients.py JOB.toml...

Prints the relative L2 error of the loss and of the worst tensor against
PyTorch's in f64, from the same weights: those of tests/train/networks stored
beside the job, or our random start. A tensor fails above the limit of its
precision; at a random start, where deep networks magnify any rounding, not if
PyTorch's own error in that precision is half as large.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

import ours
import safetensors_file
import torch_network
from job import Job, make_data

LIMITS = {"f32": 1e-5, "f64": 1e-10, "bf16": 2e-2, "f16": 5e-3}


# Norms below this share of the whole's are rounding and nothing else, in f64
# too: a key's bias moves all scores of a query alike.
NOTHING = 1e-12


def relative_errors(got, wanted):
    """By tensor, relative to its norm; to the whole's where it is nothing."""
    sizes = {name: np.linalg.norm(value) for name, value in wanted.items()}
    whole = sum(size**2 for size in sizes.values()) ** 0.5
    return {
        name: float(np.linalg.norm(got[name] - wanted[name]))
        / (size if size > NOTHING * whole else whole)
        for name, size in sizes.items()
    }


def stored(path):
    """Examples and start values as make_vectors.py left them, if it did."""
    if not path.with_suffix(".safetensors").exists():
        return None
    features, labels = (
        np.load(path.with_suffix(f".{what}.npy"))
        for what in ("features", "labels")
    )
    tensors = safetensors_file.read(path.with_suffix(".safetensors"))
    start = {name: tensors[name] for name in tensors
             if f"{name}/gradient" in tensors}
    return widen(features), widen(labels), start


def widen(values):
    """Stored in few bits, which hold them exactly."""
    return values.astype(np.int32 if values.dtype == np.uint8 else np.float32)


def compare(path, precision, arguments):
    job = Job(path)
    features, labels, start = (
        None if arguments.random else stored(path)
    ) or (*make_data(job, arguments.batch), None)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--precision", precision]
        options += ["--device", arguments.device]
        loss, values, made = ours.gradients(
            arguments.ours, job, folder, features, labels, options, start
        )
    wanted_loss, wanted = torch_network.gradients(job, values, features, labels)
    _, own = torch_network.gradients(
        job, values, features, labels, precision
    )
    errors = relative_errors(made, wanted)
    theirs = relative_errors(own, wanted)
    worst = max(errors, key=errors.get)
    print(
        f"{path.stem:16} {precision:4} {len(made):4} tensors, loss {loss:.6f}"
        f" against {wanted_loss:.6f}, worst {errors[worst]:.1e} ({worst},"
        f" PyTorch's own {theirs[worst]:.1e})"
    )
    limit = LIMITS[precision]
    # At a random start PyTorch's own can be beyond the limit.
    bad = [
        n for n in errors
        if errors[n] > (limit if start else max(limit, 2 * theirs[n]))
    ]
    for name in errors if arguments.verbose else bad:
        print(f"    {errors[name]:.1e} against {theirs[name]:.1e} {name}")
    return not bad and abs(loss - wanted_loss) <= limit * abs(wanted_loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="+")
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--precision", default="f32,bf16",
                        help="one or several of " + ", ".join(LIMITS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=4,
                        help="at our random start")
    parser.add_argument("--random", action="store_true",
                        help="our random start, also where others are stored")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    good = [
        compare(pathlib.Path(path), precision, arguments)
        for precision in arguments.precision.split(",")
        for path in arguments.jobs
    ]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
