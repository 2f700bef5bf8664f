"""The first steps on one fixed batch beside PyTorch's, from the same start.

  python bench/peers/networks/overfit.py resnet50 gpt2

Both networks have their real depth and width, over small images and few tokens.
Any two roundings drift apart as training goes on: how far PyTorch's own are from
its f64 is printed too. Fails where ours are more than 1 % from PyTorch's within
20 steps, or 5 % at the end.
"""

import argparse
import pathlib
import sys
import tempfile

import torch

import ours
from job import Job, make_data
from train_torch import optimizer_of
from torch_network import Network

MODELS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "models"
DTYPES = {"f32": torch.float32, "f64": torch.float64}

# Gentle steps: with the published rates the first ones throw the loss up, and
# what follows hangs on the last bit.
SETTINGS = {
    "resnet50": {
        "input": [64, 64, 3],
        "batch": 8,
        "optimizer": {"type": "adam", "learning_rate": 5e-7},
    },
    "gpt2": {
        "input": [32],
        "batch": 1,
        "optimizer": {
            "type": "adamw",
            "learning_rate": 1e-5,
            "weight_decay": 0.1,
            "beta_2": 0.95,
            "epsilon": 1e-8,
        },
    },
}


def job_of(name, arguments):
    job, settings = Job(MODELS / f"{name}.toml"), SETTINGS[name]
    job.input = settings["input"]
    if "shape" in job.source["labels"]:
        job.source["labels"]["shape"] = settings["input"]
    job.train["optimizer"] = dict(settings["optimizer"])
    if arguments.learning_rate:
        job.train["optimizer"]["learning_rate"] = arguments.learning_rate
    return job, make_data(job, arguments.batch or settings["batch"])


def our_run(job, data, precision, arguments, optimizer, steps):
    options = ["--device", arguments.device, "--precision", precision]
    with tempfile.TemporaryDirectory() as folder:
        run = ours.Run(
            arguments.ours, job, folder, *data, optimizer, steps, options
        )
        return run.losses(), run.states() if steps == 1 else None


def torch_losses(job, values, data, precision, arguments):
    dtype, device = DTYPES[precision], arguments.device
    network = Network(
        job,
        {
            name: torch.tensor(value, dtype=dtype, device=device)
            for name, value in values.items()
        },
        dtype,
    )
    optimizer = optimizer_of(torch, job, network.parameters(), device)
    x, y = (torch.from_numpy(array).to(device) for array in data)
    losses = []
    for _ in range(arguments.steps):
        optimizer.zero_grad(set_to_none=True)
        loss = network.loss(x, y)
        losses.append(float(loss.detach()))
        loss.backward()
        optimizer.step()
    return losses


def apart(got, wanted):
    """At the most in 20 steps, and at the end."""
    each = [abs(a - b) / abs(b) for a, b in zip(got, wanted)]
    return max(each[:20]), each[-1]


def row(name, losses):
    shown = losses[:20] + losses[39::20]
    print(f"  {name:14}" + " ".join(f"{loss:.5f}" for loss in shown), flush=True)


def compare(name, arguments):
    job, data = job_of(name, arguments)
    precision = arguments.precision
    _, start = our_run(job, data, precision, arguments, ours.STANDSTILL, 1)
    start = ours.parameters(start)
    print(f"{name}, steps 1 to 20, then every 20th of {arguments.steps}:")
    got, _ = our_run(
        job, data, precision, arguments, job.train["optimizer"], arguments.steps
    )
    row(f"plimsoll {precision}", got)
    wanted = torch_losses(job, start, data, precision, arguments)
    row(f"pytorch {precision}", wanted)
    early, end = apart(got, wanted)
    print(f"  apart: {early:.1e} in 20 steps, {end:.1e} at the end", flush=True)
    if precision != "f64":
        exact = torch_losses(job, start, data, "f64", arguments)
        row("pytorch f64", exact)
        for who, losses in (("plimsoll", got), ("pytorch", wanted)):
            print(
                f"  {who} from pytorch f64: {apart(losses, exact)[0]:.1e} in 20"
                f" steps, {apart(losses, exact)[1]:.1e} at the end",
                flush=True,
            )
    return early <= 0.01 and end <= 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+", choices=SETTINGS)
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32", choices=DTYPES)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--threads", type=int, default=0, help="of PyTorch")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    good = [compare(name, arguments) for name in arguments.networks]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
