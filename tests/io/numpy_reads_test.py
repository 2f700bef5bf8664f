#!/usr/bin/env python3
"""NumPy reads the npz and npy files that write_arrays writes.

usage: numpy_reads_test.py WRITE_ARRAYS
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None

EXPECTED = {
    "floats": ("<f4", [[1, 2, 3], [4, 5, 6.5]]),
    "scalar": ("<f8", 0.1),
    "longs": ("<i8", [-1, 1 << 40]),
    "bytes": ("|u1", [[0], [7], [255]]),
}


def check(array, dtype, values):
    assert array.dtype.str == dtype, array.dtype
    assert array.tolist() == values, array


def main():
    if np is None:
        print("skipped: this Python has no NumPy")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        with np.load(pathlib.Path(folder) / "a.npz") as table:
            assert sorted(table.files) == sorted([*EXPECTED, "empty"]), table
            for name, (dtype, values) in EXPECTED.items():
                check(table[name], dtype, values)
            assert table["empty"].shape == (0, 4), table["empty"].shape
        check(np.load(pathlib.Path(folder) / "a.npy"), *EXPECTED["floats"])
    print("NumPy read five arrays and a file of one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
