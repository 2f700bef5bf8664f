"""What the input-pipeline comparison shares: its cases and their files."""

import pathlib
import subprocess
import sys

BATCH = 32
VALUES = 100  # of a row
ROWS = 1_000_000  # in memory
IMAGES = 60_000
SIDE, LARGE_SIDE = 28, 64
JPEG_SIDE = 224
# Rows of a file that are read together: 16 blocks make a window of 4 MiB.
BLOCK_ROWS, WINDOW_BLOCKS = 640, 16

# How many times tf.data's elements a second are wanted, for information.
CASES = {
    "memory": {"what": "1,000,000 x 100 f32 and a label, shuffled", "bar": 5},
    "npy": {"what": "npy file of rows x 100 f32, shuffled", "bar": 3},
    "tfrecord": {"what": "examples of 100 f32 and a label, parsed", "bar": 2},
    "resize": {"what": "28x28 f32 to 64x64, bilinear", "bar": 2},
    "jpeg": {"what": "400 JPEGs of 500x375 to 224x224", "bar": 1.3},
}
MOST_RSS_RATIO = 1 / 3

RECORD_FILES, RECORDS_EACH = 4, 50_000
JPEGS, JPEG_CLASSES = 400, 4


def npy_path(folder):
    return pathlib.Path(folder, "rows.npy")


def record_paths(folder):
    names = [f"rows-{i}.tfrecord" for i in range(RECORD_FILES)]
    return [str(pathlib.Path(folder, name)) for name in names]


def jpeg_folder(folder):
    return pathlib.Path(folder, "jpeg")


def npy_rows(path):
    import numpy as np

    return np.load(path, mmap_mode="r").shape[0]


def npy_header_bytes(path):
    import numpy as np

    return np.load(path, mmap_mode="r").offset


def make_npy(folder, rows):
    import numpy as np

    path = npy_path(folder)
    if path.exists() and npy_rows(path) == rows:
        return
    shape = (rows, VALUES)
    out = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    # Pages that were never written would all be the same one.
    pattern = np.random.default_rng(1).random((10_000, VALUES), np.float32)
    for first in range(0, rows, len(pattern)):
        part = out[first : first + len(pattern)]
        part[:] = pattern[: len(part)]
    out.flush()


def in_cache(path):
    """Reads a file once, so that its pages are in the system's cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def warm(folder, case):
    """Before every measurement: the system may have let go of pages."""
    if case == "npy":
        in_cache(npy_path(folder))


def make_files(folder, cases, rows):
    """Whatever is missing; TensorFlow writes its own formats."""
    folder.mkdir(parents=True, exist_ok=True)
    if "npy" in cases:
        make_npy(folder, rows)
    if {"tfrecord", "jpeg"} & set(cases):
        script = pathlib.Path(__file__).with_name("data_make.py")
        subprocess.check_call(
            [sys.executable, script, folder], stderr=subprocess.DEVNULL
        )
