"""A job's network in JAX: the layers of the networks that are compared."""

import jax
import jax.numpy as jnp
from jax import lax, nn

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": nn.relu,
    "gelu": lambda x: nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: nn.gelu(x, approximate=True),
    "softmax": nn.softmax,
}


def forward(job, parameter, features, compute):
    """`parameter(name, shape, start)` gives a value; it is cast here."""
    made = {"input": features}
    if jnp.issubdtype(features.dtype, jnp.floating):
        made["input"] = features.astype(compute)
    for layer in job.layers:

        def p(name, *shape, start=None, of=layer["name"]):
            value = parameter(f"{of}/{name}", shape, start)
            return jnp.asarray(value).astype(compute)

        inputs = [made[name] for name in layer["inputs"]]
        made[layer["name"]] = LAYERS[layer["type"]](layer, p, *inputs)
    return made[job.layers[-1]["name"]]


def activate(layer, x):
    return ACTIVATIONS[layer.get("activation") or "linear"](x)


def dense(layer, p, x):
    if "shared_with" in layer:
        y = x @ p("embeddings", of=layer["shared_with"]).T
    else:
        y = x @ p("kernel", x.shape[-1], layer["units"])
    if layer.get("use_bias", True):
        y = y + p("bias", y.shape[-1])
    return activate(layer, y)


def padding_of(layer):
    if layer.get("padding", "valid") in ("valid", "same"):
        return layer.get("padding", "valid").upper()
    top, bottom, left, right = layer.borders("padding", 0)
    return ((top, bottom), (left, right))


def conv2d(layer, p, x):
    groups = layer.get("groups", 1)
    kernel = layer.pair("kernel_size")
    weight = p("kernel", layer["filters"], *kernel, x.shape[-1] // groups)
    y = lax.conv_general_dilated(
        x,
        weight,
        layer.pair("strides"),
        padding_of(layer),
        rhs_dilation=layer.pair("dilation_rate"),
        dimension_numbers=("NHWC", "OHWI", "NHWC"),
        feature_group_count=groups,
    )
    if layer.get("use_bias", True):
        y = y + p("bias", layer["filters"])
    return activate(layer, y)


def max_pooling2d(layer, p, x):
    size = layer.pair("pool_size", 2)
    strides = layer.pair("strides", size)
    padding = padding_of(layer)
    whole = padding
    if not isinstance(padding, str):
        whole = ((0, 0), *padding, (0, 0))
    return lax.reduce_window(
        x, -jnp.inf, lax.max, (1, *size, 1), (1, *strides, 1), whole
    )


def zero_padding2d(layer, p, x):
    top, bottom, left, right = layer.borders("padding", 1)
    return jnp.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))


def normalize(layer, p, x, axes):
    wide = x.astype(jnp.float32)
    mean = wide.mean(axes, keepdims=True)
    variance = jnp.square(wide - mean).mean(axes, keepdims=True)
    y = (wide - mean) * lax.rsqrt(variance + layer.get("epsilon", 1e-3))
    y = y.astype(x.dtype) * p("gamma", x.shape[-1], start=1)
    return y + p("beta", x.shape[-1])


def multi_head_attention(layer, p, x):
    width = layer["num_heads"] * layer["key_dim"]

    def product(name, value, units):
        y = value @ p(f"{name}/kernel", value.shape[-1], units)
        return y + p(f"{name}/bias", units)

    q, k, v = (
        product(name, x, width).reshape(
            *x.shape[:2], layer["num_heads"], layer["key_dim"]
        )
        for name in ("query", "key", "value")
    )
    y = jax.nn.dot_product_attention(
        q, k, v, is_causal=layer.get("causal", False)
    )
    return product("attention_output", y.reshape(*x.shape[:2], width), x.shape[-1])


LAYERS = {
    "dense": dense,
    "conv2d": conv2d,
    "activation": lambda layer, p, x: activate(layer, x),
    "dropout": lambda layer, p, x: x,
    "flatten": lambda layer, p, x: x.reshape(x.shape[0], -1),
    "max_pooling2d": max_pooling2d,
    "zero_padding2d": zero_padding2d,
    "global_average_pooling2d": lambda layer, p, x: x.mean((1, 2)),
    "batch_normalization": lambda layer, p, x: normalize(
        layer, p, x, tuple(range(x.ndim - 1))
    ),
    "layer_normalization": lambda layer, p, x: normalize(layer, p, x, (-1,)),
    "add": lambda layer, p, *x: sum(x[1:], x[0]),
    "embedding": lambda layer, p, x: p(
        "embeddings", layer["input_dim"], layer["output_dim"]
    )[x],
    "position_embedding": lambda layer, p, x: x
    + p("embeddings", layer["sequence_length"], x.shape[-1])[: x.shape[1]],
    "multi_head_attention": multi_head_attention,
}


def loss(job, parameter, features, labels, compute):
    logits = forward(job, parameter, features, compute).astype(jnp.float32)
    if job.train["loss"] == "mean_squared_error":
        return jnp.square(logits - labels.reshape(logits.shape)).mean()
    flat = nn.log_softmax(logits.reshape(-1, logits.shape[-1]))
    chosen = jnp.take_along_axis(flat, labels.reshape(-1, 1), axis=1)
    return -chosen.mean()
