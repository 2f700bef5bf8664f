"""What every family shares: draws of random inputs, and the cases."""
import math

import numpy as np

RANDOM = np.random.default_rng(20240229)
CASES = {}


def restart_random(seed):
    global RANDOM
    RANDOM = np.random.default_rng(seed)


def f32(*shape, low=-1.0, high=1.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*shape, low=0, high=10, dtype=np.int32):
    return RANDOM.integers(low, high, shape, dtype=dtype)


def tensor(array, dtype=None):
    array = np.asarray(array)
    names = {"float32": "f32", "float64": "f64", "int32": "i32",
             "int64": "i64", "bool": "boolean", "uint8": "u8"}
    flat = [float(v) for v in array.astype(np.float64).ravel()]
    return {"dtype": dtype or names[str(array.dtype)],
            "shape": list(array.shape),
            "values": [None if math.isnan(v) else
                       int(v) if v == int(v) and abs(v) < 1e15 else v
                       for v in flat]}


def case(family, op, inputs, outputs, attrs=None, name="", tolerance=1e-5,
         dtypes=None):
    """`dtypes`: of the outputs, where they do not follow the inputs'."""
    if not isinstance(outputs, tuple):
        outputs = (outputs,)
    made = [tensor(np.asarray(o, dtype=np.float64),
                   dtypes[i] if dtypes else "float")
            for i, o in enumerate(outputs)]
    CASES.setdefault(family, []).append(
        {"op": op, "name": name or op, "attrs": attrs or {},
         "inputs": [tensor(i) for i in inputs], "outputs": made,
         "tolerance": tolerance})


def wide(*arrays):
    out = [np.asarray(a, dtype=np.float64) for a in arrays]
    return out[0] if len(out) == 1 else out
