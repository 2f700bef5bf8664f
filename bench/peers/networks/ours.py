"""Runs a job in Plimsoll on given data, and reads what it left behind."""

import json
import pathlib
import struct
import subprocess

import numpy as np

from toml_text import section_texts

DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    values = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in DTYPES:
            continue
        begin, end = (8 + length + at for at in entry["data_offsets"])
        values[name] = np.frombuffer(
            data[begin:end], DTYPES[entry["dtype"]]
        ).reshape(entry["shape"])
    return values


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
        path.write_text(section_texts(tables))
        done = subprocess.run(
            [program, "train", path, "--run-dir", folder / "run", "--quiet",
             *options],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        self.folder = folder / "run"
        self.summary = json.loads((self.folder / "summary.json").read_text())

    def losses(self):
        return self.summary["loss_by_epoch"]

    def states(self):
        return read_safetensors(
            self.folder / "checkpoints" / "last.safetensors"
        )


# With these Adam's first moment after one step is the gradient, and the
# parameters stay what they were.
GRADIENT_PROBE = {
    "type": "adam",
    "learning_rate": 1e-30,
    "beta_1": 0.0,
    "beta_2": 0.0,
    "epsilon": 1.0,
}
MOMENT = "/first_moment"


def gradients(program, job, folder, features, labels, options=()):
    """The loss, the parameters and their gradients, by name."""
    run = Run(program, job, folder, features, labels, GRADIENT_PROBE, 1, options)
    states = run.states()
    made = {
        name[: -len(MOMENT)]: value
        for name, value in states.items()
        if name.endswith(MOMENT)
    }
    return run.losses()[0], {name: states[name] for name in made}, made
