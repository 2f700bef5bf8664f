"""Makes the stored results that tests/train/networks_test.cpp compares with.

  python bench/peers/networks/make_vectors.py [FOLDER [NAME...]]

For each small job file of the folder: examples, start values, and PyTorch's
loss and gradients there in f64, rounded to f32. Of some draws the one is taken
at and around which PyTorch's own gradients in bf16 are nearest to those in f64:
what is compared is then how well they are computed, not how much a start
magnifies rounding.
"""

import pathlib
import sys

import numpy as np
import torch

import kinks
import safetensors_file
from compare_gradients import relative_errors, widen
from job import Job, make_data
from start_values import Maker
from torch_network import Network, gradients

ROOT = pathlib.Path(__file__).resolve().parents[3]
DRAWS = 40
GOOD_ENOUGH = 0.01  # half of what a test allows


def near(values, seed):
    """Other roundings of about the same numbers."""
    draw = np.random.default_rng(seed)
    return {
        name: value * (1 + 1e-3 * draw.standard_normal(value.shape))
        for name, value in values.items()
    }


def rounding_error(job, values, features, labels):
    _, exact = gradients(job, values, features, labels)
    _, rounded = gradients(job, values, features, labels, "bf16")
    return max(relative_errors(rounded, exact).values())


class Vectors:
    """Examples as they are stored, so that they take little room, and start
    values; bf16 holds both exactly, so that both sides see the same."""

    def __init__(self, job, seed):
        features, labels = make_data(job, job.train["batch"], seed)
        maker = Maker(spread=0.5, seed=seed)
        with torch.no_grad():
            Network(job, make=maker)(torch.from_numpy(features))
        features, values = kinks.avoid(job, features, maker.values)
        self.features, self.labels = self.narrow(features), self.narrow(labels)
        self.values = {n: self.narrow(v) for n, v in values.items()}
        inputs = widen(self.features), widen(self.labels)
        self.loss, self.gradients = gradients(job, self.values, *inputs)
        self.error = max(
            rounding_error(job, near(self.values, i), *inputs) for i in range(5)
        )

    @staticmethod
    def narrow(values):
        if values.dtype == np.int32:
            return values.astype(np.uint8)
        rounded = torch.from_numpy(np.array(values)).to(torch.bfloat16)
        return rounded.to(torch.float16).numpy()

    def write(self, path):
        np.save(path.with_suffix(".features.npy"), self.features)
        np.save(path.with_suffix(".labels.npy"), self.labels)
        tensors = {"loss": np.array(self.loss, np.float32)}
        for name, gradient in self.gradients.items():
            tensors[name] = self.values[name]
            tensors[f"{name}/gradient"] = gradient.astype(np.float32)
        safetensors_file.write(path.with_suffix(".safetensors"), tensors)


def make(path):
    job, best = Job(path), None
    for seed in range(DRAWS):
        made = Vectors(job, seed)
        if best is None or made.error < best.error:
            best = made
        if best.error <= GOOD_ENOUGH:
            break
    best.write(path)
    print(
        f"{path.stem:16}{len(best.gradients):4} tensors, loss {best.loss:.6f},"
        f" PyTorch's bf16 {best.error:.1e} from f64 at the most",
        flush=True,
    )


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                          ROOT / "tests" / "train" / "networks")
    for path in sorted(folder.glob("*.toml")):
        if path.stem in sys.argv[2:] or len(sys.argv) < 3:
            make(path)


if __name__ == "__main__":
    main()
