"""Element-wise ops."""
import math

import numpy as np

from case import case, f32, integers, restart_random, wide


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
    restart_random(7)
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
