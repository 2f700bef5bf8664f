"""Moves, indices and resizing."""
import numpy as np

from case import case, wide


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


def packing():
    random = np.random.default_rng(13)
    x = random.uniform(-1, 1, (7, 5)).astype(np.float32)
    # Blocks of 3 columns and 4 rows, columns outermost inside a block.
    padded = np.pad(x, ((0, 1), (0, 1))).reshape(2, 4, 2, 3)
    packed = padded.transpose(0, 2, 3, 1).ravel()
    attrs = {"extents": {"ints": [7, 5]}, "strides": {"ints": [24, 12]},
             "block_axes": {"ints": [1, 0]}, "block_sizes": {"ints": [3, 4]}}
    case("movement", "pack", [x], packed, attrs)
    case("movement", "unpack", [packed], x,
         dict(attrs, shape={"shape": [7, 5]}))
