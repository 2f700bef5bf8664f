"""The first steps on one fixed batch beside PyTorch's, from the same start.

  python bench/peers/networks/overfit.py JOB.toml --steps 100 --batch 8

Prints both losses at some steps, and by how much they differ at the most in
the first 20 steps and at the end.
"""

import argparse
import sys
import tempfile

import torch

import ours
from job import Job, make_data
from train_torch import optimizer_of
from torch_network import Network


def torch_losses(job, values, features, labels, steps, device):
    network = Network(
        job, {name: torch.tensor(v, device=device) for name, v in values.items()}
    )
    optimizer = optimizer_of(torch, job, network.parameters(), device)
    x = torch.from_numpy(features).to(device)
    y = torch.from_numpy(labels).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = network.loss(x, y)
        losses.append(float(loss.detach()))
        loss.backward()
        optimizer.step()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--learning-rate", type=float)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    job = Job(arguments.job)
    if arguments.learning_rate:
        job.train["optimizer"]["learning_rate"] = arguments.learning_rate
    features, labels = make_data(job, arguments.batch)
    options = ["--device", arguments.device]
    with tempfile.TemporaryDirectory() as folder:
        _, values, _ = ours.gradients(
            arguments.ours, job, folder, features, labels, options
        )
    with tempfile.TemporaryDirectory() as folder:
        got = ours.Run(
            arguments.ours, job, folder, features, labels,
            job.train["optimizer"], arguments.steps, options,
        ).losses()
    wanted = torch_losses(
        job, values, features, labels, arguments.steps, arguments.device
    )
    apart = [abs(a - b) / abs(b) for a, b in zip(got, wanted)]
    for step in sorted({0, 1, 4, 9, 19, 49, arguments.steps - 1}):
        if step < arguments.steps:
            print(f"  step {step + 1:4}: {got[step]:.6f}  {wanted[step]:.6f}"
                  f"  {apart[step]:.2%}")
    early, end = max(apart[:20]), apart[-1]
    print(f"apart by {early:.2%} at most in 20 steps, {end:.2%} at the end")
    sys.exit(0 if early <= 0.01 and end <= 0.05 else 1)


if __name__ == "__main__":
    main()
