"""Embedding, normalization, pooling, convolution, and a loss with its product.
"""
import math

import numpy as np

from case import case, f32, integers, wide
from dense_cases import more_updates, softmax_of


def embedding():
    table, m = f32(6, 5), f32(6, 5)
    v = f32(6, 5, low=0, high=1)
    dy = f32(4, 3, 5)
    # Some rows several times, some never, and two indices outside.
    indices = np.array([[0, 5, 2], [2, 2, -1], [6, 0, 4], [2, 5, 0]],
                       dtype=np.int32)
    inside = (indices >= 0) & (indices < 6)
    T, M, V, D = wide(table, m, v, dy)
    case("embedding", "gather", [table, indices],
         np.where(inside[..., None], T[np.where(inside, indices, 0)], np.nan),
         {"axis": {"int": 0}, "from_end": {"bool": False}}, name="embedding")
    G = np.zeros_like(T)
    np.add.at(G, indices[inside], D[inside])
    case("embedding", "scatter_add", [dy, indices.astype(np.int64)], G,
         {"axis": {"int": 0}, "extent": {"int": 6},
          "from_end": {"bool": False}}, name="embedding_grad")
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
    more_updates("embedding", table, G, m, v, rate, indices, dy, named)


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


def biased_linear_loss():
    x, weight, bias, dy = f32(7, 4), f32(4, 11), f32(11), f32(7)
    labels = integers(7, high=11)
    one_hot = np.eye(11)[labels]
    X, W, B, DY = wide(x, weight, bias, dy)
    share = softmax_of(X @ W + B)
    case("loss", "linear_cross_entropy", [x, weight, labels, bias],
         -(one_hot * np.log(share)).sum(-1), name="linear_cross_entropy_bias")
    g = DY[:, None] * (share - one_hot)
    case("loss", "linear_cross_entropy_grad", [dy, x, weight, labels, bias],
         (g @ W.T, X.T @ g, g.sum(0)), name="linear_cross_entropy_grad_bias")


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


def pooled(shape, window, strides, padding):
    """Which pixels each window of one image has, row by row."""
    top, bottom, left, right = padding
    rows = (shape[1] + top + bottom - window[0]) // strides[0] + 1
    columns = (shape[2] + left + right - window[1]) // strides[1] + 1
    for i in range(rows):
        for j in range(columns):
            place = [(k, i * strides[0] - top + k // window[1],
                      j * strides[1] - left + k % window[1])
                     for k in range(window[0] * window[1])]
            yield (i, j), [(k, y, x) for k, y, x in place
                           if 0 <= y < shape[1] and 0 <= x < shape[2]]


def pooling():
    random = np.random.default_rng(11)
    for name, shape, window, strides, padding in (
            ("halved", (2, 4, 6, 3), (2, 2), (2, 2), (0, 0, 0, 0)),
            ("padded", (2, 7, 6, 2), (3, 3), (2, 2), (1, 1, 1, 1)),
            ("uneven", (1, 5, 8, 4), (2, 3), (1, 2), (1, 0, 0, 2))):
        attrs = {"window": {"ints": window}, "strides": {"ints": strides},
                 "padding": {"ints": padding}}
        back = dict(attrs, height={"int": shape[1]}, width={"int": shape[2]})
        # Few different values: ties are common.
        x = random.integers(-3, 4, shape).astype(np.float32)
        windows = list(pooled(shape, window, strides, padding))
        size = (shape[0], *np.array(windows[-1][0]) + 1, shape[3])
        dy = random.uniform(-1, 1, size).astype(np.float32)
        X, DY = wide(x, dy)
        largest, mean = np.zeros(size), np.zeros(size)
        places = np.zeros(size, dtype=np.uint8)
        to_largest, to_mean = np.zeros(shape), np.zeros(shape)
        images, channels = np.ogrid[:shape[0], :shape[3]]
        for (i, j), pixels in windows:
            number, y, w = np.array(pixels).T
            values = X[:, y, w, :]
            first = values.argmax(axis=1)
            largest[:, i, j] = values.max(axis=1)
            places[:, i, j] = number[first]
            mean[:, i, j] = values.mean(axis=1)
            np.add.at(to_largest, (images, y[first], w[first], channels),
                      DY[:, i, j])
            to_mean[:, y, w, :] += DY[:, None, i, j] / len(pixels)
        case("pooling", "max_pool2d", [x], (largest, places), attrs,
             name=f"max_pool2d_{name}", dtypes=["float", "u8"])
        case("pooling", "max_pool2d_grad", [dy, places], to_largest, back,
             name=f"max_pool2d_grad_{name}")
        case("pooling", "avg_pool2d", [x], mean, attrs,
             name=f"avg_pool2d_{name}")
        case("pooling", "avg_pool2d_grad", [dy], to_mean, back,
             name=f"avg_pool2d_grad_{name}")


def convolved(x, w, strides, dilations, padding, _):
    """Each tap with the pixels of x under it."""
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    _, rows, columns, _ = w
    size = [(x.shape[1 + a] - dilations[a] * (n - 1) - 1) // strides[a] + 1
            for a, n in enumerate((rows, columns))]
    for k in range(rows):
        for l in range(columns):
            down, across = k * dilations[0], l * dilations[1]
            yield (k, l), x[:, down:down + strides[0] * size[0]:strides[0],
                            across:across + strides[1] * size[1]:strides[1]]


def convolution():
    random = np.random.default_rng(12)

    def draw(*shape):
        return random.uniform(-1, 1, shape).astype(np.float32)

    for name, shape, kernel, strides, dilations, padding, groups in (
            ("valid", (2, 5, 6, 3), (4, 3, 3, 3), (1, 1), (1, 1),
             (0, 0, 0, 0), 1),
            ("uneven", (2, 7, 6, 4), (6, 3, 2, 2), (2, 1), (1, 2),
             (1, 2, 0, 1), 2),
            ("depthwise", (1, 6, 5, 5), (5, 3, 3, 1), (2, 2), (1, 1),
             (1, 1, 1, 1), 5)):
        x, w, bias = draw(*shape), draw(*kernel), draw(kernel[0])
        X, W, BIAS = wide(x, w, bias)
        settings = (strides, dilations, padding, groups)
        taps = list(convolved(X, kernel, *settings))
        size = (*taps[0][1].shape[:3], kernel[0])
        dy = draw(*size)
        DY = wide(dy)
        # [..., group, of the group]
        def grouped(a):
            return a.reshape(*a.shape[:-1], groups, -1)
        Y, DW = np.zeros(size), np.zeros(kernel)
        places = np.arange(X.size).reshape(shape) + 1  # 0: padding
        DX = np.zeros(X.size + 1)
        for ((k, l), pixels), (_, where) in zip(
                taps, convolved(places, kernel, *settings)):
            tap = W[:, k, l].reshape(groups, -1, kernel[3])
            Y += np.einsum("bijgc,goc->bijgo", grouped(pixels),
                           tap).reshape(size)
            DW[:, k, l] = np.einsum("bijgo,bijgc->goc", grouped(DY),
                                    grouped(pixels)).reshape(-1, kernel[3])
            back = np.einsum("bijgo,goc->bijgc", grouped(DY), tap)
            np.add.at(DX, where.ravel(), back.ravel())
        attrs = {"strides": {"ints": strides}, "dilations": {"ints": dilations},
                 "padding": {"ints": padding}, "groups": {"int": groups}}
        case("convolution", "conv2d", [x, w], Y, attrs, name=f"conv2d_{name}")
        case("convolution", "conv2d", [x, w, bias], np.maximum(Y + BIAS, 0),
             dict(attrs, activation={"string": "relu"}),
             name=f"conv2d_relu_{name}")
        case("convolution", "conv2d_data_grad", [dy, w],
             DX[1:].reshape(shape), dict(attrs, input_shape={"shape": shape}),
             name=f"conv2d_data_grad_{name}")
        case("convolution", "conv2d_weight_grad", [dy, x], DW,
             dict(attrs, kernel_shape={"shape": kernel}),
             name=f"conv2d_weight_grad_{name}")
