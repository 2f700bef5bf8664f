#!/usr/bin/env python3
"""Writes the op cases in cases/ from NumPy in float64.

Usage: make_references.py [FOLDER]. Inputs are rounded to f32 first, so that
f32 and f64 kernels see the same numbers. Needs NumPy only.
"""
import json
import math
import pathlib
import sys

import numpy as np

RANDOM = np.random.default_rng(20240229)
CASES = {}


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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf)


def phi(x):  # the normal distribution up to x
    return (1 + erf(x / math.sqrt(2))) / 2


def density(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


S = 0.25  # the scalar of ops that have one

UNARY = {
    "identity": lambda a: a, "negate": lambda a: -a,
    "add_scalar": lambda a: a + S, "multiply_scalar": lambda a: a * S,
    "maximum_scalar": lambda a: np.maximum(a, S),
    "minimum_scalar": lambda a: np.minimum(a, S),
    "square": np.square, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
    "abs": np.abs, "sign": np.sign,
    "greater_scalar": lambda a: (a > S) * 1.0,
    "relu": lambda a: np.maximum(a, 0),
    "leaky_relu": lambda a: np.where(a > 0, a, S * a),
    "sigmoid": sigmoid, "tanh": np.tanh, "gelu": lambda a: a * phi(a),
}
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "divide": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "equal": lambda a, b: (a == b) * 1.0,
    "greater": lambda a, b: (a > b) * 1.0,
    "relu_grad": lambda a, b: np.where(b > 0, a, 0),
    "leaky_relu_grad": lambda a, b: np.where(b > 0, a, S * a),
    "sigmoid_grad": lambda a, b: a * b * (1 - b),
    "tanh_grad": lambda a, b: a * (1 - b * b),
    "gelu_grad": lambda a, b: a * (phi(b) + b * density(b)),
    "bce_logits": lambda a, b: (np.maximum(a, 0) - a * b +
                                np.log1p(np.exp(-np.abs(a)))),
}


def scalar_attr(op):
    with_scalar = op.endswith("_scalar") or op.startswith("leaky_relu")
    return {"scalar": {"double": S}} if with_scalar else {}


def elementwise():
    for op, function in UNARY.items():
        positive = op in ("sqrt", "log")
        x = f32(3, 23, low=0.01 if positive else -6, high=6)
        case("elementwise", op, [x], function(wide(x)), scalar_attr(op))
    for op, function in BINARY.items():
        a, b = f32(4, 19, low=-3, high=3), f32(4, 19, low=0.2, high=3)
        case("elementwise", op, [a, b], function(*wide(a, b)), scalar_attr(op))
        a, b = f32(3, 1, 5), f32(4, 1, low=0.2, high=3)
        case("elementwise", op, [a, b], function(*wide(a, b)), scalar_attr(op),
             name=op + "_broadcast")
    a = integers(5, 7, high=3).astype(np.float32)
    b = integers(5, 7, high=3).astype(np.float32)
    case("elementwise", "equal", [a, b], (a == b) * 1.0, name="equal_often")
    case("elementwise", "constant", [], np.full((2, 5), 1.5),
         {"scalar": {"double": 1.5}, "shape": {"shape": [2, 5]},
          "dtype": {"string": "f32"}}, dtypes=["f32"])
    x, y = f32(6, 11, low=-2, high=2), f32(11)
    steps = [["multiply", 0, 1, 0], ["tanh", 2, -1, 0], ["add_scalar", 3, -1, S]]
    case("elementwise", "fused", [x, y],
         (np.tanh(wide(x) * wide(y)) + S, wide(x) * wide(y)),
         {"expression": {"steps": steps, "results": [4, 2]}})


def gelu_argument(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def gelu_tanh_slope(x):
    t = np.tanh(gelu_argument(x))
    inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return (1 + t) / 2 + x / 2 * (1 - t * t) * inner


def more_elementwise():
    """Later codes, from numbers of their own: other cases stay as they are."""
    global RANDOM
    RANDOM = np.random.default_rng(7)
    unary = {
        "gelu_tanh": lambda a: a / 2 * (1 + np.tanh(gelu_argument(a))),
        "silu": lambda a: a * sigmoid(a),
        "elu": lambda a: np.where(a > 0, a, S * np.expm1(a)),
        "softplus": lambda a: np.logaddexp(a, 0),
        "power_scalar": lambda a: np.power(a, S),
    }
    binary = {
        "gelu_tanh_grad": lambda a, b: a * gelu_tanh_slope(b),
        "silu_grad":
            lambda a, b: a * sigmoid(b) * (1 + b * (1 - sigmoid(b))),
        "elu_grad": lambda a, b: np.where(b > 0, a, a * (b + S)),
        "softplus_grad": lambda a, b: a * -np.expm1(-b),
        "power": np.power,
    }
    compared = {
        "less": np.less, "less_equal": np.less_equal,
        "greater_equal": np.greater_equal, "not_equal": np.not_equal,
    }
    with_scalar = {"scalar": {"double": S}}
    for op, function in unary.items():
        x = f32(3, 23, low=-6, high=6)
        x = np.abs(x) if op == "power_scalar" else x
        case("elementwise", op, [x], function(wide(x)),
             with_scalar if op in ("elu", "power_scalar") else {})
    for op, function in binary.items():
        for name, shapes in (("", ((4, 19), (4, 19))),
                             ("_broadcast", ((3, 1, 5), (4, 1)))):
            a = f32(*shapes[0], low=0.2 if op == "power" else -3, high=3)
            b = f32(*shapes[1], low=0.2 if op == "softplus_grad" else -3,
                    high=3)
            case("elementwise", op, [a, b], function(*wide(a, b)),
                 with_scalar if op == "elu_grad" else {}, name=op + name)
    a = f32(40, low=-3, high=3)
    b = integers(40, low=-4, high=5).astype(np.float32)
    case("elementwise", "power", [a, b], np.power(*wide(a, b)),
         name="power_negative")
    for op, function in compared.items():
        a = integers(5, 7, high=3).astype(np.float32)
        b = integers(7, high=3).astype(np.float32)
        case("elementwise", op, [a, b], function(a, b) * 1.0)
    chosen = integers(6, 1, 5, low=-1, high=2).astype(np.float32)
    a, b = f32(4, 1), f32(6, 4, 5)
    case("elementwise", "where", [chosen, a, b],
         np.where(chosen != 0, *wide(a, b)))
    x, y = f32(6, 11, low=-2, high=2), f32(11)
    steps = [["greater", 0, 1, 0], ["silu", 0, -1, 0], ["where", 2, 3, 0, 1]]
    a, b = wide(x, y)
    case("elementwise", "fused", [x, y], np.where(a > b, a * sigmoid(a), b),
         {"expression": {"steps": steps, "results": [4]}}, name="fused_where")


def movement():
    x = f32(3, 4, 5)
    case("movement", "reshape", [x], wide(x).reshape(6, 10),
         {"shape": {"shape": [6, 10]}})
    for perm in ([2, 0, 1], [1, 0, 2], [2, 1, 0]):
        case("movement", "transpose", [x], wide(x).transpose(perm),
             {"perm": {"ints": perm}},
             name="transpose_" + "".join(map(str, perm)))
    case("movement", "copy", [x], wide(x))
    y = f32(4, 9, low=-100, high=100)
    case("movement", "cast", [y], np.trunc(wide(y)),
         {"dtype": {"string": "i32"}}, name="cast_to_i32", dtypes=["i32"])
    case("movement", "cast", [y], wide(y.astype(np.float16)),
         {"dtype": {"string": "f16"}}, name="cast_to_f16", dtypes=["f16"],
         tolerance=0)
    n = integers(4, 9, low=-1000, high=1000)
    case("movement", "cast", [n], wide(n), {"dtype": {"string": "f32"}},
         name="cast_from_i32", dtypes=["f32"])


def matmul():
    for ta in (False, True):
        for tb in (False, True):
            a, b = f32(5, 13), f32(13, 7)
            attrs = {"transpose_a": {"bool": ta}, "transpose_b": {"bool": tb}}
            case("matmul", "matmul",
                 [a.T.copy() if ta else a, b.T.copy() if tb else b],
                 wide(a) @ wide(b), attrs, name=f"matmul_{ta:d}{tb:d}")
    a, b, bias = f32(8, 20), f32(20, 12), f32(12)
    case("matmul", "matmul", [a, b, bias],
         np.maximum(wide(a) @ wide(b) + wide(bias), 0),
         {"activation": {"string": "relu"}}, name="matmul_bias_relu")
    a, b = f32(2, 3, 4, 6), f32(2, 3, 6, 5)
    case("matmul", "matmul", [a, b], wide(a) @ wide(b), name="matmul_batches")


def reduction():
    functions = {"reduce_sum": np.sum, "reduce_mean": np.mean,
                 "reduce_max": np.max}
    for op, function in functions.items():
        for axes in ([0], [1], [-1], [0, 2], []):
            for keep in (False, True):
                x = f32(4, 3, 5, low=-2, high=2)
                over = tuple(axes) if axes else None
                name = f"{op}_{'_'.join(map(str, axes)) or 'all'}_{keep:d}"
                case("reduction", op, [x],
                     function(wide(x), axis=over, keepdims=keep),
                     {"axes": {"ints": axes}, "keepdims": {"bool": keep}},
                     name=name)
    x = f32(5)
    case("reduction", "divide_by_count", [x], wide(x) / 12,
         {"axes": {"ints": [1, 2]}, "shape": {"shape": [5, 3, 4]}})


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax():
    for name, limit in (("small", 4), ("huge", 1e4)):
        x = f32(6, 21, low=-limit, high=limit)
        case("softmax", "softmax", [x], softmax_of(wide(x)),
             name="softmax_" + name)
    dy, y = f32(4, 9), f32(4, 9, low=0, high=1)
    a, b = wide(dy, y)
    case("softmax", "softmax_grad", [dy, y],
         (a - (a * b).sum(-1, keepdims=True)) * b)


def loss():
    for name, limit in (("small", 4), ("huge", 1e4)):
        x = f32(7, 11, low=-limit, high=limit)
        dense = f32(7, 11, low=0, high=1)
        sparse = integers(7, high=11)
        dy = f32(7)
        logits = wide(x)
        top = logits.max(-1, keepdims=True)
        logs = logits - top - np.log(
            np.exp(logits - top).sum(-1, keepdims=True))
        one_hot = np.eye(11)[sparse]
        for op, labels, weights in (
                ("softmax_cross_entropy", dense, wide(dense)),
                ("sparse_softmax_cross_entropy", sparse, one_hot)):
            case("loss", op, [x, labels], -(weights * logs).sum(-1),
                 name=f"{op}_{name}")
            total = weights.sum(-1, keepdims=True)
            case("loss", op + "_grad", [dy, x, labels],
                 wide(dy)[:, None] * (total * np.exp(logs) - weights),
                 name=f"{op}_grad_{name}")
    x = f32(3, 4)
    bad = np.array([1, 4, -1], dtype=np.int32)
    logs = np.log(softmax_of(wide(x)))
    case("loss", "sparse_softmax_cross_entropy", [x, bad],
         np.array([-logs[0, 1], np.nan, np.nan]), name="sparse_bad_labels")
    scores = integers(9, 6, high=3).astype(np.float32)  # ties: the first wins
    labels = integers(9, high=6)
    case("loss", "argmax_equals", [scores, labels],
         (scores.argmax(-1) == labels) * 1.0, dtypes=["f32"])
    dense = f32(9, 6)
    case("loss", "argmax_equals", [scores, dense],
         (scores.argmax(-1) == dense.argmax(-1)) * 1.0, dtypes=["f32"],
         name="argmax_equals_dense")


M64 = (1 << 64) - 1


def philox(key, high, low):
    """Philox 4x32-10 as published."""
    x = [low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(p1 >> 32) ^ x[1] ^ k0, p1 & 0xFFFFFFFF,
             (p0 >> 32) ^ x[3] ^ k1, p0 & 0xFFFFFFFF]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return x


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def dropout():
    for rate, seed, op_id, step in ((0.5, 1, 0, 0), (0.1, -3, 7, 123456789),
                                    (0.0, 2, 1, 5)):
        x = f32(3, 50)
        key = mix((mix((seed + 0x9E3779B97F4A7C15) & M64) + op_id) & M64)
        keep = [philox(key, step, i // 64 * 16 + i % 16)[i % 64 // 16]
                >= int(rate * 2**32) for i in range(x.size)]
        case("random", "dropout", [x, np.array(step, dtype=np.int64)],
             wide(x) * np.array(keep).reshape(x.shape) / (1 - rate),
             {"rate": {"double": rate}, "seed": {"int": seed},
              "op_id": {"int": op_id}}, name=f"dropout_{rate}")


def update():
    p, g, m = f32(40), f32(40), f32(40)
    v = f32(40, low=0, high=1)
    rate = np.float32(0.01)
    step = np.array(7, dtype=np.int64)
    P, G, M, V, R = (np.asarray(a, dtype=np.float64) for a in (p, g, m, v, rate))
    case("update", "sgd", [p, g, rate], P - R * G)
    velocity = 0.9 * M - R * G
    case("update", "sgd_momentum", [p, g, m, rate], (P + velocity, velocity),
         {"momentum": {"double": 0.9}})
    first, second = 0.9 * M + 0.1 * G, 0.999 * V + 0.001 * G * G
    size = R * math.sqrt(1 - 0.999**7) / (1 - 0.9**7)
    for op, decay in (("adam", 0.0), ("adamw", 0.004)):
        attrs = {"beta_1": {"double": 0.9}, "beta_2": {"double": 0.999},
                 "epsilon": {"double": 1e-7}}
        if decay:
            attrs["weight_decay"] = {"double": decay}
        case("update", op, [p, g, m, v, rate, step],
             (P - R * decay * P - size * first / (np.sqrt(second) + 1e-7),
              first, second), attrs)
    case("update", "increment", [step], np.array(8.0), dtypes=["i64"])
    total = np.array(3.25, dtype=np.float64)
    case("update", "accumulate", [total, rate], np.array(3.25 + R),
         dtypes=["f64"])


def moves():
    """Draws of their own, so that other families' numbers stay."""
    random = np.random.default_rng(7)

    def x(*shape):
        return random.uniform(-1, 1, shape).astype(np.float32)

    parts = [x(3, 2, 4), x(3, 5, 4), x(3, 1, 4)]
    whole = np.concatenate(parts, axis=1)
    case("movement", "concat", parts, whole, {"axis": {"int": 1}})
    case("movement", "split", [whole], tuple(np.split(whole, [2, 7], axis=-2)),
         {"axis": {"int": -2}, "sizes": {"shape": [2, 5, 1]}})
    a = x(6, 7, 5)
    case("movement", "slice", [a], a[1:-1, -6::2, :3],
         {"starts": {"ints": [1, -6, 0]}, "stops": {"ints": [-1, 99, 3]},
          "steps": {"ints": [1, 2, 1]}})
    case("movement", "pad", [a],
         np.pad(a, ((1, 0), (0, 2), (3, 1)), constant_values=0.5),
         {"before": {"ints": [1, 0, 3]}, "after": {"ints": [0, 2, 1]},
          "value": {"double": 0.5}})
    b = x(4, 3)
    spread = np.zeros((11, 5))
    spread[1::3, ::2] = b
    case("movement", "pad", [b], spread,
         {"before": {"ints": [1, 0]}, "after": {"ints": [0, 0]},
          "value": {"double": 0}, "interior": {"ints": [2, 1]}},
         name="pad_interior")
    c = random.integers(-9, 9, (3, 1, 2), dtype=np.int32)
    case("movement", "expand", [c], np.broadcast_to(c, (4, 3, 5, 2)),
         {"shape": {"shape": [4, 3, 5, 2]}}, dtypes=["i32"])


def indexing():
    random = np.random.default_rng(8)
    table = random.uniform(-1, 1, (6, 5, 4)).astype(np.float32)
    rows = random.integers(-5, 5, (2, 3), dtype=np.int32)
    taken = np.take(wide(table), rows, axis=1)
    case("indexing", "gather", [table, rows], taken, {"axis": {"int": 1}})
    sums = np.zeros((6, 5, 4))
    values = random.uniform(-1, 1, taken.shape).astype(np.float32)
    np.add.at(sums, (slice(None), rows), wide(values))
    case("indexing", "scatter_add", [values, rows], sums,
         {"axis": {"int": 1}, "extent": {"int": 5}})
    scores = random.integers(-4, 4, (7, 9, 6)).astype(np.float32)
    scores[2, 3, 1] = scores[2, 5, 1] = np.nan
    for axis in (0, 1, -1):
        case("indexing", "argmax", [scores], np.argmax(scores, axis=axis),
             {"axis": {"int": axis}}, name=f"argmax_{axis}", dtypes=["i64"])
    ties = random.integers(-4, 4, (5, 20)).astype(np.float32)
    order = np.argsort(-ties, axis=-1, kind="stable")[:, :6]
    best = np.take_along_axis(ties, order, axis=-1)
    case("indexing", "topk", [ties], (best, order), {"k": {"int": 6}},
         dtypes=["float", "i64"])
    dx = np.zeros((5, 20))
    np.put_along_axis(dx, order, wide(best), axis=-1)
    case("indexing", "topk_grad", [best, order], dx, {"width": {"int": 20}})
    labels = random.integers(0, 7, (3, 4), dtype=np.int32)
    case("indexing", "one_hot", [labels], np.eye(7)[labels],
         {"depth": {"int": 7}, "dtype": {"string": "f32"}}, dtypes=["f32"])


def resize_matrix(pixels, to, nearest):
    """What each pixel counts in each of the result's."""
    matrix = np.zeros((to, pixels))
    for i in range(to):
        if nearest:
            matrix[i, (2 * i + 1) * pixels // (2 * to)] = 1
            continue
        # A hat of width one around the centre; the border repeats.
        centre = np.clip((i + 0.5) * pixels / to - 0.5, 0, pixels - 1)
        matrix[i] = np.maximum(0, 1 - np.abs(np.arange(pixels) - centre))
    return matrix


def resize():
    random = np.random.default_rng(9)
    for shape, size in (((2, 4, 5, 3), (7, 9)), ((1, 9, 8, 2), (4, 3))):
        for method in ("bilinear", "nearest"):
            rows = resize_matrix(shape[1], size[0], method == "nearest")
            columns = resize_matrix(shape[2], size[1], method == "nearest")
            images = random.uniform(-1, 1, shape).astype(np.float32)
            name = f"{method}_{shape[1]}_{size[0]}"
            case("resize", "resize", [images],
                 np.einsum("ih,jw,bhwc->bijc", rows, columns, wide(images)),
                 {"height": {"int": size[0]}, "width": {"int": size[1]},
                  "method": {"string": method}}, name=f"resize_{name}")
            dy = random.uniform(
                -1, 1, (shape[0], *size, shape[3])).astype(np.float32)
            case("resize", "resize_grad", [dy],
                 np.einsum("ih,jw,bijc->bhwc", rows, columns, wide(dy)),
                 {"height": {"int": shape[1]}, "width": {"int": shape[2]},
                  "method": {"string": method}}, name=f"resize_grad_{name}")


def embedding():
    table, m = f32(6, 5), f32(6, 5)
    v = f32(6, 5, low=0, high=1)
    dy = f32(4, 3, 5)
    # Some rows several times, some never, and two indices outside.
    indices = np.array([[0, 5, 2], [2, 2, -1], [6, 0, 4], [2, 5, 0]],
                       dtype=np.int32)
    inside = (indices >= 0) & (indices < 6)
    T, M, V, D = wide(table, m, v, dy)
    case("embedding", "embedding", [table, indices],
         np.where(inside[..., None], T[np.where(inside, indices, 0)], np.nan))
    G = np.zeros_like(T)
    np.add.at(G, indices[inside], D[inside])
    case("embedding", "embedding_grad", [dy, indices.astype(np.int64)], G,
         {"rows": {"int": 6}})
    named = np.isin(np.arange(6), indices)[:, None]
    rate = np.float32(0.01)
    R = np.float64(rate)
    step = np.array(7, dtype=np.int64)

    def rows(new, old):
        return np.where(named, new, old)

    case("embedding", "sgd_rows", [table, dy, rate, indices],
         rows(T - R * G, T))
    velocity = 0.9 * M - R * G
    case("embedding", "sgd_momentum_rows", [table, dy, m, rate, indices],
         (rows(T + velocity, T), rows(velocity, M)),
         {"momentum": {"double": 0.9}})
    first, second = 0.9 * M + 0.1 * G, 0.999 * V + 0.001 * G * G
    size = R * math.sqrt(1 - 0.999**7) / (1 - 0.9**7)
    for op, decay in (("adam_rows", 0.0), ("adamw_rows", 0.004)):
        attrs = {"beta_1": {"double": 0.9}, "beta_2": {"double": 0.999},
                 "epsilon": {"double": 1e-7}}
        if decay:
            attrs["weight_decay"] = {"double": decay}
        new = T - R * decay * T - size * first / (np.sqrt(second) + 1e-7)
        case("embedding", op, [table, dy, m, v, rate, step, indices],
             (rows(new, T), rows(first, M), rows(second, V)), attrs)


def linear_loss():
    x, dy = f32(7, 4), f32(7)
    labels = integers(7, high=11)
    one_hot = np.eye(11)[labels]
    for transposed in (False, True):
        weight = f32(11, 4) if transposed else f32(4, 11)
        X, W, DY = wide(x, weight.T if transposed else weight, dy)
        share = softmax_of(X @ W)
        attrs = {"transposed": {"bool": True}} if transposed else {}
        end = "_tied" if transposed else ""
        case("loss", "linear_cross_entropy", [x, weight, labels],
             -(one_hot * np.log(share)).sum(-1), attrs,
             name="linear_cross_entropy" + end)
        g = DY[:, None] * (share - one_hot)
        dw = X.T @ g
        case("loss", "linear_cross_entropy_grad", [dy, x, weight, labels],
             (g @ W.T, dw.T if transposed else dw), attrs,
             name="linear_cross_entropy_grad" + end)


def normalized(x, axes, epsilon, mean=None, variance=None):
    """xhat, mean and 1 / deviation over `axes`, which stay as extent 1."""
    if mean is None:
        mean = x.mean(axes, keepdims=True)
    if variance is None:
        variance = ((x - mean)**2).mean(axes, keepdims=True)
    deviation = 1 / np.sqrt(variance + epsilon)
    return (x - mean) * deviation, mean, deviation


def norm_grad(dy, xhat, deviation, gamma, axes, centred=True):
    """dx of xhat * gamma with statistics over `axes`."""
    g = dy * gamma
    level = g.mean(axes, keepdims=True) if centred else 0
    return deviation * (g - level - xhat * (g * xhat).mean(axes,
                                                           keepdims=True))


def normalization():
    eps = 1e-3
    attrs = {"epsilon": {"double": eps}}
    for name, low, high in (("", -2, 3), ("_offset", 999, 1001)):
        x, dy = f32(5, 3, 14, low=low, high=high), f32(5, 3, 14)
        gamma, beta = f32(14, low=0.5, high=1.5), f32(14)
        X, D, G, B = wide(x, dy, gamma, beta)
        xhat, mean, dev = normalized(X, -1, eps)
        case("normalization", "layer_norm", [x, gamma, beta],
             (xhat * G + B, mean[..., 0], dev[..., 0]), attrs,
             name="layer_norm" + name)
        xhat, mean, dev = normalized(X, (0, 1), eps)
        case("normalization", "batch_norm", [x, gamma, beta],
             (xhat * G + B, mean[0, 0], X.var((0, 1)), dev[0, 0]), attrs,
             name="batch_norm" + name)
        case("normalization", "batch_norm", [x, gamma, beta],
             (xhat * G + B, mean[0, 0], X.var((0, 1), ddof=1), dev[0, 0]),
             dict(attrs, unbiased={"bool": True}),
             name="batch_norm_unbiased" + name)
        grouped = X.reshape(5, 3, 7, 2)
        xhat, mean, dev = normalized(grouped, (1, 3), eps)
        case("normalization", "group_norm", [x, gamma, beta],
             (xhat.reshape(X.shape) * G + B, mean[:, 0, :, 0],
              dev[:, 0, :, 0]), dict(attrs, groups={"int": 7}),
             name="group_norm" + name)
        case("normalization", "rms_norm", [x, gamma],
             (normalized(X, -1, eps, mean=0)[0] * G,
              normalized(X, -1, eps, mean=0)[2][..., 0]), attrs,
             name="rms_norm" + name)

    x, dy = f32(5, 3, 14, low=-2, high=3), f32(5, 3, 14)
    gamma, beta = f32(14, low=0.5, high=1.5), f32(14)
    X, D, G, B = wide(x, dy, gamma, beta)

    def sums(xhat):
        return (D * xhat).sum((0, 1)), D.sum((0, 1))

    def statistic(array):
        return array.astype(np.float32)

    # Statistics as a kernel would be given them, rounded to f32.
    for op, axes, shape in (("layer_norm", -1, (5, 3)),
                            ("rms_norm", -1, (5, 3)),
                            ("batch_norm", (0, 1), (14,))):
        centred = op != "rms_norm"
        _, mean, dev = normalized(X, axes, eps, mean=None if centred else 0)
        dev = statistic(dev)
        mean = statistic(mean) if centred else 0
        xhat = (X - wide(mean)) * wide(dev)
        given = [mean.reshape(shape)] if centred else []
        dgamma, dbeta = sums(xhat)
        case("normalization", op + "_grad",
             [dy, x, gamma, *given, dev.reshape(shape)],
             (norm_grad(D, xhat, wide(dev), G, axes, centred), dgamma,
              *([dbeta] if centred else [])), attrs)
    _, mean, dev = normalized(X.reshape(5, 3, 7, 2), (1, 3), eps)
    mean, dev = statistic(mean), statistic(dev)
    xhat = (X.reshape(5, 3, 7, 2) - wide(mean)) * wide(dev)
    dx = norm_grad(D.reshape(5, 3, 7, 2), xhat, wide(dev), G.reshape(7, 2),
                   (1, 3))
    case("normalization", "group_norm_grad",
         [dy, x, gamma, mean[:, 0, :, 0], dev[:, 0, :, 0]],
         (dx.reshape(X.shape), *sums(xhat.reshape(X.shape))),
         dict(attrs, groups={"int": 7}))
    mean, variance = f32(14), f32(14, low=0.1, high=2)
    xhat, _, dev = normalized(X, None, eps, wide(mean), wide(variance))
    case("normalization", "batch_norm_inference",
         [x, gamma, beta, mean, variance], xhat * G + B, attrs)
    case("normalization", "batch_norm_inference_grad",
         [dy, x, gamma, mean, variance], (D * G * dev, *sums(xhat)), attrs)


def main():
    folder = pathlib.Path(__file__).parent / "cases"
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for family in (elementwise, movement, matmul, reduction, softmax, loss,
                   dropout, update, more_elementwise, moves, indexing,
                   resize, embedding, linear_loss,
                   normalization):
        family()
    for family, cases in CASES.items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":"),
                                      allow_nan=False) for c in cases)
        (folder / f"{family}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
