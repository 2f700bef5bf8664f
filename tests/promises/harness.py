"""Runs the built program as a user would, for the tests of whole jobs."""
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../scripts"))
from job_text import job_text  # noqa: E402

MIB = 1 << 20
GIB = 1 << 30
PROGRAM = os.environ["PLIMSOLL_BINARY"]
EXAMPLES = os.environ["PLIMSOLL_EXAMPLES"]
# A sanitizer's own memory is in the process too: figures mean nothing then.
SANITIZED = os.environ.get("PLIMSOLL_SANITIZED") == "1"

measures_memory = unittest.skipIf(
    SANITIZED, "measures memory, and a sanitizer's is not ours")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Trained(NamedTuple):
    ran: Ran
    watched: dict  # what `watch` saw from outside
    summary: dict  # summary.json


def dense(units, activation="linear", **more):
    return {"type": "dense", "units": units, "activation": activation, **more}


def random_source(examples, features, labels=None):
    return {"type": "random", "examples": examples, "features": features,
            "labels": labels or {"type": "binary"}}


def stages(*names, batches=None):
    """A pipeline; `batches` are those that prefetch keeps ready."""
    made = [{"stage": name} for name in names]
    for stage in made:
        if stage["stage"] == "prefetch" and batches is not None:
            stage["batches"] = batches
    return made


def small_job(examples=640, features=16):
    """A job that trains at once; tests change what they are about."""
    return {
        "model": {"input": [features],
                  "layers": [dense(8, "relu"), dense(1, "sigmoid")]},
        "data": {"source": random_source(examples, [features]),
                 "pipeline": stages("shuffle", "batch", "prefetch")},
        "train": {"batch": 32, "epochs": 1, "loss": "binary_crossentropy"},
    }


def npy_header(shape, descr, fortran=False):
    extents = "".join(f"{extent}, " for extent in shape)
    text = (f"{{'descr': '{descr}', 'fortran_order': {fortran}, "
            f"'shape': ({extents}), }}")
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def write_npy(path, shape, descr, data):
    with open(path, "wb") as file:
        file.write(npy_header(shape, descr))
        file.write(data)


class JobTest(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="promise-", dir=os.getcwd())
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.runs = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_job(self, job, name="job.toml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(job_text(job))
        return self.path(name)

    def plimsoll(self, *arguments, env=None):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True,
            cwd=self.folder, check=False,
            env=clean_environment() | (env or {}))
        return Ran(done.returncode, done.stdout, done.stderr)

    def plan(self, *arguments, env=None):
        """The exit code and the object of `plan --json`."""
        ran = self.plimsoll("plan", *arguments, "--json", env=env)
        self.assertIn(ran.code, (0, 3), ran.err)
        return ran.code, json.loads(ran.out)

    def train(self, *arguments, watched=True, code=0, env=None):
        """Trains, by default under `watch`, and expects `code`."""
        self.runs += 1
        run_dir = self.path(f"run-{self.runs}")
        figures = self.path("watch.json")
        command = ["train", *arguments, "--quiet", "--run-dir", run_dir]
        if watched:
            command = ["watch", "--json", figures, "--", PROGRAM, *command]
        ran = self.plimsoll(*command, env=env)
        self.assertEqual(ran.code, code, f"{arguments}\n{ran.err}")
        return Trained(ran, read_json(figures) if watched else {},
                       read_json(os.path.join(run_dir, "summary.json")))

    def checkpoint(self, run=None):
        """The bytes of the last run's checkpoint."""
        run_dir = self.path(f"run-{run or self.runs}")
        path = os.path.join(run_dir, "checkpoints", "last.safetensors")
        with open(path, "rb") as file:
            return file.read()


def clean_environment():
    """Without budgets that somebody may have set."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("PLIMSOLL_")}


def read_json(path):
    """The file's value; nothing where it is not, or goes meanwhile."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def split(apply):
    """A remedy's arguments as a shell would take them."""
    return shlex.split(apply)


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def main():
    unittest.main(verbosity=2)
