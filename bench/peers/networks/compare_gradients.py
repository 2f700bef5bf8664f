"""Loss and gradients beside PyTorch's, from the same weights and examples.

  python bench/peers/networks/compare_gradients.py JOB.toml...

Prints the relative L2 error of the loss and of the worst tensor; fails above
the limit. PyTorch computes in f64 from the same f32 weights.
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


def relative(got, wanted):
    scale = np.linalg.norm(wanted)
    return float(np.linalg.norm(got - wanted) / (scale if scale else 1.0))


def torch_gradients(job, values, features, labels, dtype=torch.float64):
    network = Network(
        job,
        {name: torch.tensor(v, dtype=dtype) for name, v in values.items()},
        dtype,
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
    errors = {name: relative(made[name], wanted[name]) for name in wanted}
    errors["loss"] = abs(loss - wanted_loss) / abs(wanted_loss)
    worst = max(errors, key=errors.get)
    print(
        f"{pathlib.Path(path).stem:20} {len(made):4} tensors, loss {loss:.6f}"
        f" against {wanted_loss:.6f}, worst {errors[worst]:.1e} ({worst})"
    )
    if arguments.verbose:
        for name, error in errors.items():
            print(f"    {error:.1e} {name}")
    return errors[worst] <= LIMITS[arguments.precision]


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
