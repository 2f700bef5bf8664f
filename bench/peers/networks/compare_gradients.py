"""Loss and gradients beside PyTorch's, from the same weights and examples.

  python bench/peers/networks/compare_gradients.py JOB.toml...

Prints the relative L2 error of the loss and of the worst tensor against
PyTorch's in f64, from the same weights. A tensor fails above the limit of its
precision, unless PyTorch's own error in that precision is half as large: deep
networks at their random start magnify any rounding.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import torch

import ours
from job import Job, make_data
from torch_network import Network

LIMITS = {"f32": 1e-5, "f64": 1e-10, "bf16": 2e-2, "f16": 5e-3}


def relative(got, wanted, whole):
    """Of gradients that are nothing but rounding (a key's bias), of the whole."""
    scale = max(np.linalg.norm(wanted), 1e-3 * whole)
    return float(np.linalg.norm(got - wanted) / scale)


def torch_gradients(job, values, features, labels, precision="f64"):
    """In 16 bits parameters are f32, as Plimsoll's are."""
    dtype = {"f64": torch.float64}.get(precision, torch.float32)
    network = Network(
        job,
        {name: torch.tensor(v, dtype=dtype) for name, v in values.items()},
        {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision, dtype),
    )
    x, y = torch.from_numpy(features), torch.from_numpy(labels)
    loss = network.loss(x, y.to(dtype) if y.is_floating_point() else y)
    loss.backward()
    made = {
        name: value.grad.to(torch.float64).numpy()
        for name, value in network.values.items()
    }
    return float(loss.detach()), made


def compare(path, arguments):
    job = Job(path)
    features, labels = make_data(job, arguments.batch)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--precision", arguments.precision]
        options += ["--device", arguments.device]
        loss, values, made = ours.gradients(
            arguments.ours, job, folder, features, labels, options
        )
    wanted_loss, wanted = torch_gradients(job, values, features, labels)
    _, own = torch_gradients(
        job, values, features, labels, arguments.precision
    )
    whole = sum(np.square(value).sum() for value in wanted.values()) ** 0.5
    errors = {
        name: relative(made[name], wanted[name], whole) for name in wanted
    }
    theirs = {
        name: relative(own[name], wanted[name], whole) for name in wanted
    }
    worst = max(errors, key=errors.get)
    print(
        f"{pathlib.Path(path).stem:20} {len(made):4} tensors, loss {loss:.6f}"
        f" against {wanted_loss:.6f}, worst {errors[worst]:.1e} ({worst},"
        f" PyTorch's own {theirs[worst]:.1e})"
    )
    limit = LIMITS[arguments.precision]
    bad = [n for n in errors if errors[n] > max(limit, 2 * theirs[n])]
    for name in errors if arguments.verbose else bad:
        print(f"    {errors[name]:.1e} against {theirs[name]:.1e} {name}")
    return not bad and abs(loss - wanted_loss) <= 10 * limit * abs(wanted_loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="+")
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    good = [compare(path, arguments) for path in arguments.jobs]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
