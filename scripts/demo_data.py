"""The demo's data: two npy files of 1 GiB together, with a rule to learn."""
import pathlib

import numpy as np

FEATURES = 1000
EXAMPLES = 268_800  # of 4,000 bytes: just above 1 GiB, whole batches of 32


def make(folder: pathlib.Path):
    """Writes x.npy and y.npy into folder unless they are there and whole."""
    x_path, y_path = folder / "x.npy", folder / "y.npy"
    if y_path.exists():  # written last
        return x_path, y_path
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    rule = rng.standard_normal((FEATURES, 1), dtype=np.float32)
    labels = np.empty(EXAMPLES, dtype=np.float32)
    rows = 3_200  # a slice of 12.8 MB: the script stays small as well
    with open(x_path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False,
                  "shape": (EXAMPLES, FEATURES)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, EXAMPLES, rows):
            x = rng.standard_normal((rows, FEATURES), dtype=np.float32)
            labels[start:start + rows] = (x @ rule)[:, 0] > 0
            file.write(x.data)
    np.save(y_path.with_suffix(".part.npy"), labels)
    y_path.with_suffix(".part.npy").rename(y_path)
    return x_path, y_path
