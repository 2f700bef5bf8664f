#!/usr/bin/env python3
"""TensorFlow reads the TFRecord files that write_examples writes.

usage: tensorflow_reads_test.py WRITE_EXAMPLES

TensorFlow is looked for in the Python named by PLIMSOLL_TENSORFLOW_PYTHON, in
.venv-peers of the project and in the Python that runs this. Without it the
test says so and is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def find_tensorflow():
    """A Python that has TensorFlow, or None."""
    for python in [os.environ.get("PLIMSOLL_TENSORFLOW_PYTHON"),
                   PROJECT / ".venv-peers" / "bin" / "python",
                   sys.executable]:
        probe = "import importlib.util, sys; " \
                "sys.exit(importlib.util.find_spec('tensorflow') is None)"
        try:
            if python and subprocess.run([python, "-c", probe]).returncode == 0:
                return str(python)
        except OSError:
            pass
    return None


def check(path, compression):
    import tensorflow as tf
    features = {"x": tf.io.FixedLenFeature([3], tf.float32),
                "ends": tf.io.FixedLenFeature([2], tf.int64),
                "name": tf.io.FixedLenFeature([], tf.string)}
    count = 0
    for record in tf.data.TFRecordDataset(path, compression):
        example = tf.io.parse_single_example(record, features)
        i = count
        assert example["x"].numpy().tolist() == [i, i + 0.5, -i], example
        assert example["ends"].numpy().tolist() == [i, -i << 40], example
        assert example["name"].numpy() == b"n" * i, example
        count += 1
    assert count == 1000, count


def main():
    if len(sys.argv) == 4:
        check(sys.argv[2], sys.argv[3])
        return 0
    python = find_tensorflow()
    if python is None:
        print("skipped: no TensorFlow here; name a Python that has it in "
              "PLIMSOLL_TENSORFLOW_PYTHON")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for ours, theirs in [("none", ""), ("gzip", "GZIP")]:
            path = os.path.join(folder, ours)
            subprocess.run([sys.argv[1], path, ours], check=True)
            subprocess.run([python, __file__, sys.argv[1], path, theirs],
                           check=True,
                           env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"})
    print("TensorFlow read 1000 records, plain and gzip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
