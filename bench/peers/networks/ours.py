"""Runs a job in Plimsoll on given data, and reads what it left behind."""

import json
import pathlib
import subprocess
import sys

import numpy as np

import safetensors_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from job_text import job_text  # noqa: E402


class Run:
    """One training run over whole epochs of `features` and `labels`."""

    def __init__(self, program, job, folder, features, labels, optimizer,
                 epochs=1, options=()):
        folder = pathlib.Path(folder)
        np.save(folder / "features.npy", features)
        np.save(folder / "labels.npy", labels)
        tables = {
            "model": {"input": job.input, "layers": job.tables},
            "data": {
                "source": {
                    "type": "npy",
                    "features": str(folder / "features.npy"),
                    "labels": str(folder / "labels.npy"),
                },
                "pipeline": [{"stage": "batch"}],
            },
            "train": {
                **job.train,
                "batch": len(features),
                "epochs": epochs,
                "optimizer": optimizer,
                "metrics": [],
            },
        }
        path = folder / "job.toml"
        path.write_text(job_text(tables))
        self.folder = folder / "run"
        self.command = [program, "train", path, "--run-dir", self.folder,
                        "--quiet", *options]
        self.train()

    def train(self, *options):
        done = subprocess.run(
            [*self.command, *options], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        self.summary = json.loads((self.folder / "summary.json").read_text())

    def losses(self):
        return self.summary["loss_by_epoch"]

    def checkpoint(self):
        return self.folder / "checkpoints" / "last.safetensors"

    def states(self):
        return safetensors_file.read(self.checkpoint())


# With these Adam's first moment after one step is the gradient, and the
# parameters stay what they were.
STANDSTILL = {
    "type": "adam",
    "learning_rate": 1e-30,
    "beta_1": 0.0,
    "beta_2": 0.0,
    "epsilon": 1.0,
}
MOMENT = "/first_moment"


def of_moments(states):
    return {
        name[: -len(MOMENT)]: value
        for name, value in states.items()
        if name.endswith(MOMENT)
    }


def parameters(states):
    return {name: states[name] for name in of_moments(states)}


def gradients(program, job, folder, features, labels, options=(), start=None):
    """The loss, the parameters and their gradients, by name; at our own start
    values, or where a second step finds others in the checkpoint."""
    run = Run(program, job, folder, features, labels, STANDSTILL, 1, options)
    if start:
        safetensors_file.replace(run.checkpoint(), start)
        run.train("--resume", "--epochs", "2")
    states = run.states()
    return run.losses()[-1], parameters(states), of_moments(states)
