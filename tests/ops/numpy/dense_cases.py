"""The ops of dense networks."""
import math

import numpy as np

from case import case, f32, integers, wide


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


def random_fills():
    for dtype, bits, turn_bits in (("f32", 24, 32), ("f64", 53, 64)):
        key = mix((mix((5 + 0x9E3779B97F4A7C15) & M64) + 2) & M64)
        step, size = 12345678901, 150

        def word(i):
            high, low = (philox(k, step, i // 64 * 16 + i % 16)[i % 64 // 16]
                         for k in (key, key ^ 0x5851F42D4C957F2D))
            return high << 32 | low

        unit = np.array([(word(i) >> (64 - bits)) / 2**bits
                         for i in range(size)])
        i = np.arange(size)
        first = np.where(i // 16 % 2 == 1, i - 16, i)
        radius = np.sqrt(-2 * np.log(
            np.array([((word(int(k)) >> (64 - bits)) + 1) / 2**bits
                      for k in first])))
        turn = 2 * np.pi * np.array(
            [(word(int(k) + 16) >> (64 - turn_bits)) / 2**turn_bits
             for k in first])
        normal = radius * np.where(first < i, np.sin(turn), np.cos(turn))
        attrs = {"shape": {"shape": [3, 50]}, "dtype": {"string": dtype},
                 "seed": {"int": 5}, "op_id": {"int": 2}}
        for op, values, more in (
                ("random_uniform", -1 + 4 * unit,
                 {"low": {"double": -1.0}, "high": {"double": 3.0}}),
                ("random_normal", 0.5 + 2 * normal,
                 {"mean": {"double": 0.5}, "deviation": {"double": 2.0}})):
            case("random", op, [np.array(step, dtype=np.int64)],
                 values.reshape(3, 50), {**attrs, **more},
                 name=f"{op}_{dtype}", dtypes=[dtype])


def more_updates(family, p, g, m, v, rate, indices=None, dy=None, named=None):
    """Nesterov's, RMSprop's and Adagrad's updates; of rows where indices say
    which. Makes states of what it is given, without a draw of its own."""
    square = (0.5 + 0.5 * v).astype(np.float32)
    average = (0.4 * m).astype(np.float32)
    P, G, M, S, A, R = (np.asarray(a, dtype=np.float64)
                        for a in (p, g, m, square, average, rate))

    def add(op, new, states, new_states, **attrs):
        out = [new, *new_states]
        if indices is None:
            inputs = [p, g, *states, rate]
        else:
            op += "_rows"
            inputs = [p, dy, *states, rate, indices]
            out = [np.where(named, after, np.asarray(before, dtype=np.float64))
                   for after, before in zip(out, [p, *states])]
        case(family, op, inputs, tuple(out),
             {key: {"double": value} for key, value in attrs.items()})

    velocity = 0.9 * M - R * G
    add("sgd_nesterov", P + 0.9 * velocity - R * G, [m], [velocity],
        momentum=0.9)
    add("adagrad", P - R * G / np.sqrt(S + G * G + 1e-7), [square],
        [S + G * G], epsilon=1e-7)
    new = 0.8 * S + 0.2 * G * G
    centre = 0.8 * A + 0.2 * G
    for centered in (False, True):
        spread = new - centre**2 if centered else new
        change = R * G / np.sqrt(spread + 1e-5)
        kept, new_kept = ([average], [centre]) if centered else ([], [])
        op = "rmsprop_centered" if centered else "rmsprop"
        add(op, P - change, [square, *kept], [new, *new_kept], rho=0.8,
            epsilon=1e-5)
        moved = 0.7 * M + change
        add(op + "_momentum", P - moved, [square, m, *kept],
            [new, moved, *new_kept], rho=0.8, epsilon=1e-5, momentum=0.7)


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
    more_updates("update", p, g, m, v, rate)
    case("update", "lamb", [p, g, m, v, rate, step],
         (R * (first / (1 - 0.9**7) /
               (np.sqrt(second / (1 - 0.999**7)) + 1e-6) + 0.02 * P),
          first, second),
         {"beta_1": {"double": 0.9}, "beta_2": {"double": 0.999},
          "epsilon": {"double": 1e-6}, "weight_decay": {"double": 0.02}})
    warm = {"function": {"string": "cosine_decay"},
            "initial_learning_rate": {"double": 0.25},
            "decay_steps": {"double": 8.0}, "alpha": {"double": 0.125},
            "warmup_target": {"double": 0.5}, "warmup_steps": {"double": 4.0},
            "dtype": {"string": "f64"}}
    for at, value in ((2, 0.375),
                      (7, 0.5 * (0.875 * (1 + math.cos(math.pi * 3 / 8)) / 2
                                 + 0.125))):
        case("update", "step_function", [np.array(at, dtype=np.int64)],
             np.array(value), warm, name=f"cosine_decay_{at}", dtypes=["f64"])
    case("update", "increment", [step], np.array(8.0), dtypes=["i64"])
    total = np.array(3.25, dtype=np.float64)
    case("update", "accumulate", [total, rate], np.array(3.25 + R),
         dtypes=["f64"])
    gate = np.float32(2.0**-15)
    case("update", "sgd", [p, g, rate, gate], P - R * 2.0**-15 * G,
         name="sgd_gated")
    case("update", "sgd_momentum", [p, g, m, rate, np.float32(0)], (P, M),
         {"momentum": {"double": 0.9}}, name="sgd_momentum_closed")
    numbers = np.arange(21, dtype=np.float32).reshape(3, 7)
    case("update", "all_finite", [numbers], np.array(1.0))
    numbers[2, 5] = np.nan
    case("update", "all_finite", [numbers], np.array(0.0),
         name="all_finite_but_one")
    for finite, good, scale, good_after in ((1, 1998, 1024, 1999),
                                            (1, 1999, 2048, 0),
                                            (0, 1999, 512, 0)):
        case("update", "scale_step",
             [np.float32(1024), np.array(good, dtype=np.int64), step,
              np.float32(finite)],
             tuple(np.array(float(value)) for value in (
                 scale, good_after, 7 + finite, finite / 1024)),
             {"growth_steps": {"int": 2000}}, name=f"scale_step_{scale}",
             dtypes=["float", "i64", "i64", "float"])
