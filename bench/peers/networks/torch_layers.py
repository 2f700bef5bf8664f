"""Layers of job files in PyTorch, by the names that Plimsoll gives parameters.

Values are channels-last, as in the job; a convolution sees a view of them in
PyTorch's channels_last format.
"""

import torch
from torch.nn import functional as F

from job import same_padding

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": F.relu,
    "relu6": F.relu6,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "swish": F.silu,
    "elu": F.elu,
    "softplus": F.softplus,
    "softmax": lambda x: F.softmax(x, dim=-1),
}


def activate(layer, x):
    name = layer.get("activation") or "linear"
    if name == "leaky_relu":
        return F.leaky_relu(x, layer.get("negative_slope", 0.2))
    return ACTIVATIONS[name](x)


def first(x):
    """Channels first, without moving anything."""
    return x.permute(0, 3, 1, 2)


def last(x):
    return x.permute(0, 2, 3, 1)


def dense(layer, p, x):
    if "shared_with" in layer:
        table = p.of(layer["shared_with"], "embeddings", ())
        y = F.linear(x, table)
    else:
        y = x @ p("kernel", x.shape[-1], layer["units"])
    if layer.get("use_bias", True):
        y = y + p("bias", y.shape[-1])
    return activate(layer, y)


def pad(layer, x, kernel, strides, dilation, value=0.0):
    """The padding as two numbers, or the padded values where it is uneven."""
    if layer.get("padding", "valid") == "same":
        top, bottom = same_padding(
            x.shape[2], kernel[0], strides[0], dilation[0]
        )
        left, right = same_padding(
            x.shape[3], kernel[1], strides[1], dilation[1]
        )
    else:
        top, bottom, left, right = layer.borders("padding", 0)
    if top == bottom and left == right:
        return x, (top, left)
    return F.pad(x, (left, right, top, bottom), value=value), (0, 0)


def conv2d(layer, p, x):
    x = first(x)
    kernel = layer.pair("kernel_size")
    strides, dilation = layer.pair("strides"), layer.pair("dilation_rate")
    groups, filters = layer.get("groups", 1), layer.get("filters")
    if layer["type"] == "depthwise_conv2d":
        groups = x.shape[1]
        filters = groups * layer.get("depth_multiplier", 1)
    weight = first(p("kernel", filters, *kernel, x.shape[1] // groups))
    x, padding = pad(layer, x, kernel, strides, dilation)
    bias = p("bias", filters) if layer.get("use_bias", True) else None
    y = F.conv2d(x, weight, bias, strides, padding, dilation, groups)
    return activate(layer, last(y))


def conv2d_transpose(layer, p, x):
    strides, filters = layer.pair("strides"), layer["filters"]
    kernel = layer.pair("kernel_size")
    weight = first(p("kernel", x.shape[-1], *kernel, filters))
    y = F.conv_transpose2d(first(x), weight, None, strides)
    height, width = (n * s for n, s in zip(x.shape[1:3], strides))
    if layer.get("padding", "valid") == "same":
        top, _ = same_padding(height, weight.shape[2], strides[0], 1)
        left, _ = same_padding(width, weight.shape[3], strides[1], 1)
        y = y[:, :, top : top + height, left : left + width]
    y = last(y)
    if layer.get("use_bias", True):
        y = y + p("bias", filters)
    return activate(layer, y)


def max_pooling2d(layer, p, x):
    size = layer.pair("pool_size", 2)
    strides = layer.pair("strides", size)
    padded, padding = pad(
        layer, first(x), size, strides, (1, 1), float("-inf")
    )
    return last(F.max_pool2d(padded, size, strides, padding))


def average_pooling2d(layer, p, x):
    size = layer.pair("pool_size", 2)
    strides = layer.pair("strides", size)
    padded, padding = pad(layer, first(x), size, strides, (1, 1))
    return last(
        F.avg_pool2d(padded, size, strides, padding, count_include_pad=False)
    )


def zero_padding2d(layer, p, x):
    top, bottom, left, right = layer.borders("padding", 1)
    return F.pad(x, (0, 0, left, right, top, bottom))


def up_sampling2d(layer, p, x):
    how = layer.get("interpolation", "nearest")
    more = {} if how == "nearest" else {"align_corners": False}
    sizes = layer.pair("size", 2)
    return last(F.interpolate(first(x), scale_factor=sizes, mode=how, **more))


def batch_normalization(layer, p, x):
    channels = x.shape[-1]
    y = F.batch_norm(
        first(x) if x.dim() == 4 else x.reshape(-1, channels),
        None,
        None,
        p("gamma", channels, start=1) if layer.get("scale", True) else None,
        p("beta", channels) if layer.get("center", True) else None,
        training=True,
        eps=layer.get("epsilon", 1e-3),
    )
    return last(y) if x.dim() == 4 else y.reshape(x.shape)


def layer_normalization(layer, p, x):
    channels = x.shape[-1]
    gamma = p("gamma", channels, start=1) if layer.get("scale", True) else None
    beta = p("beta", channels) if layer.get("center", True) else None
    return F.layer_norm(x, (channels,), gamma, beta, layer.get("epsilon", 1e-3))


def rms_normalization(layer, p, x):
    scale = p("scale", x.shape[-1], start=1)
    return F.rms_norm(x, x.shape[-1:], scale, layer.get("epsilon", 1e-6))


def group_normalization(layer, p, x):
    y = F.group_norm(
        x.movedim(-1, 1),
        layer.get("groups", 32),
        p("gamma", x.shape[-1], start=1),
        p("beta", x.shape[-1]),
        layer.get("epsilon", 1e-3),
    )
    return y.movedim(1, -1)


def embedding(layer, p, x):
    table = p("embeddings", layer["input_dim"], layer["output_dim"])
    return F.embedding(x, table)


def position_embedding(layer, p, x):
    table = p("embeddings", layer["sequence_length"], x.shape[-1])
    return x + table[: x.shape[1]]


def multi_head_attention(layer, p, x, *others, mask=None):
    """Inputs: queries, then values, then keys, where they are others."""
    values = others[0] if others else x
    keys = others[1] if len(others) > 1 else values
    if mask is not None:
        mask = mask.bool()[:, None, None] if mask.dim() == 2 else mask.bool()[:, None]
    heads = layer["num_heads"]
    width = heads * layer["key_dim"]

    def product(name, value, units):
        y = value @ p(f"{name}/kernel", value.shape[-1], units)
        if layer.get("use_bias", True):
            y = y + p(f"{name}/bias", units)
        return y

    def project(name, value):
        y = product(name, value, width)
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    y = F.scaled_dot_product_attention(
        project("query", x),
        project("key", keys),
        project("value", values),
        attn_mask=mask,
        is_causal=layer.get("causal", False),
    )
    return product("attention_output", y.transpose(1, 2).flatten(-2), x.shape[-1])


def lstm(layer, p, x):
    units = layer["units"]
    gates = x @ p("kernel", x.shape[-1], 4 * units) + p("bias", 4 * units)
    recurrent = p("recurrent_kernel", units, 4 * units)
    hidden = cell = x.new_zeros(x.shape[0], units)
    steps = []
    for t in range(x.shape[1]):
        i, f, c, o = (gates[:, t] + hidden @ recurrent).chunk(4, -1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(c)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        steps.append(hidden)
    return torch.stack(steps, 1) if layer.get("return_sequences") else hidden


def gru(layer, p, x):
    units = layer["units"]
    gates = x @ p("kernel", x.shape[-1], 3 * units) + p("bias", 3 * units)
    recurrent = p("recurrent_kernel", units, 3 * units)
    bias = p("recurrent_bias", 3 * units)
    hidden = x.new_zeros(x.shape[0], units)
    steps = []
    for t in range(x.shape[1]):
        z, r, h = gates[:, t].chunk(3, -1)
        inner = hidden @ recurrent + bias
        uz, ur, uh = inner.chunk(3, -1)
        z, r = torch.sigmoid(z + uz), torch.sigmoid(r + ur)
        hidden = z * hidden + (1 - z) * torch.tanh(h + r * uh)
        steps.append(hidden)
    return torch.stack(steps, 1) if layer.get("return_sequences") else hidden


def columns(layer, p, x):
    return x[..., layer.get("begin", 0) : layer.get("end")]


def total(layer, p, *x):
    y = x[0]
    for one in x[1:]:
        y = y + one
    return y


def product(layer, p, *x):
    y = x[0]
    for one in x[1:]:
        y = y * one
    return y


LAYERS = {
    "dense": dense,
    "activation": lambda layer, p, x: activate(layer, x),
    "dropout": lambda layer, p, x: x,  # compared without
    "flatten": lambda layer, p, x: x.flatten(1),
    "conv2d": conv2d,
    "depthwise_conv2d": conv2d,
    "conv2d_transpose": conv2d_transpose,
    "max_pooling2d": max_pooling2d,
    "average_pooling2d": average_pooling2d,
    "global_average_pooling2d": lambda layer, p, x: x.mean((1, 2)),
    "global_max_pooling2d": lambda layer, p, x: x.amax((1, 2)),
    "zero_padding2d": zero_padding2d,
    "up_sampling2d": up_sampling2d,
    "batch_normalization": batch_normalization,
    "layer_normalization": layer_normalization,
    "rms_normalization": rms_normalization,
    "group_normalization": group_normalization,
    "embedding": embedding,
    "position_embedding": position_embedding,
    "multi_head_attention": multi_head_attention,
    "lstm": lstm,
    "gru": gru,
    "slice": columns,
    "add": total,
    "multiply": product,
    "subtract": lambda layer, p, a, b: a - b,
    "average": lambda layer, p, *x: total(layer, p, *x) / len(x),
    "maximum": lambda layer, p, a, b: torch.maximum(a, b),
    "concatenate": lambda layer, p, *x: torch.cat(
        x, layer.get("axis", -1)
    ),
    "dot": lambda layer, p, a, b: (a * b).sum(-1, keepdim=True),
    "reshape": lambda layer, p, x: x.reshape(
        x.shape[0], *layer["target_shape"]
    ),
    "permute": lambda layer, p, x: x.permute(0, *layer["dims"]),
}
