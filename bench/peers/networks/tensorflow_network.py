"""A job's network in TensorFlow: the layers of the networks compared."""

import tensorflow as tf

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": tf.nn.relu,
    "gelu": tf.nn.gelu,
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "softmax": tf.nn.softmax,
}


def forward(job, parameter, features, compute):
    made = {"input": features}
    if features.dtype.is_floating:
        made["input"] = tf.cast(features, compute)
    for layer in job.layers:

        def p(name, *shape, start=None, of=layer["name"]):
            return tf.cast(parameter(f"{of}/{name}", shape, start), compute)

        inputs = [made[name] for name in layer["inputs"]]
        made[layer["name"]] = LAYERS[layer["type"]](layer, p, *inputs)
    return made[job.layers[-1]["name"]]


def activate(layer, x):
    return ACTIVATIONS[layer.get("activation") or "linear"](x)


def product(x, kernel):
    flat = tf.reshape(x, (-1, x.shape[-1])) @ kernel
    return tf.reshape(flat, (*x.shape[:-1], kernel.shape[-1]))


def dense(layer, p, x):
    if "shared_with" in layer:
        y = product(x, tf.transpose(p("embeddings", of=layer["shared_with"])))
    else:
        y = product(x, p("kernel", x.shape[-1], layer["units"]))
    if layer.get("use_bias", True):
        y = y + p("bias", y.shape[-1])
    return activate(layer, y)


def padding_of(layer):
    if layer.get("padding", "valid") in ("valid", "same"):
        return layer.get("padding", "valid").upper()
    top, bottom, left, right = layer.borders("padding", 0)
    return ((0, 0), (top, bottom), (left, right), (0, 0))


def conv2d(layer, p, x):
    kernel = layer.pair("kernel_size")
    # TensorFlow keeps kernels as HWIO.
    weight = p("kernel_hwio", *kernel, x.shape[-1], layer["filters"])
    y = tf.nn.conv2d(x, weight, layer.pair("strides"), padding_of(layer))
    if layer.get("use_bias", True):
        y = tf.nn.bias_add(y, p("bias", layer["filters"]))
    return activate(layer, y)


def max_pooling2d(layer, p, x):
    size = layer.pair("pool_size", 2)
    strides = layer.pair("strides", size)
    return tf.nn.max_pool2d(x, size, strides, padding_of(layer))


def zero_padding2d(layer, p, x):
    top, bottom, left, right = layer.borders("padding", 1)
    return tf.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))


def batch_normalization(layer, p, x):
    f32 = tf.float32
    gamma = tf.cast(p("gamma", x.shape[-1], start=1), f32)
    beta = tf.cast(p("beta", x.shape[-1]), f32)
    return tf.compat.v1.nn.fused_batch_norm(
        x, gamma, beta, epsilon=layer.get("epsilon", 1e-3), is_training=True
    )[0]


def layer_normalization(layer, p, x):
    wide = tf.cast(x, tf.float32)
    mean, variance = tf.nn.moments(wide, -1, keepdims=True)
    y = (wide - mean) * tf.math.rsqrt(variance + layer.get("epsilon", 1e-3))
    y = tf.cast(y, x.dtype) * p("gamma", x.shape[-1], start=1)
    return y + p("beta", x.shape[-1])


def multi_head_attention(layer, p, x):
    heads, size = layer["num_heads"], layer["key_dim"]

    def projected(name, value, units):
        y = product(value, p(f"{name}/kernel", value.shape[-1], units))
        return y + p(f"{name}/bias", units)

    q, k, v = (
        tf.transpose(
            tf.reshape(
                projected(name, x, heads * size), (*x.shape[:2], heads, size)
            ),
            (0, 2, 1, 3),
        )
        for name in ("query", "key", "value")
    )
    scores = tf.matmul(q, k, transpose_b=True) * tf.cast(size**-0.5, q.dtype)
    if layer.get("causal", False):
        seen = tf.linalg.band_part(tf.ones(scores.shape[-2:], tf.bool), -1, 0)
        scores = tf.where(seen, scores, tf.cast(-1e9, scores.dtype))
    y = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), (0, 2, 1, 3))
    y = tf.reshape(y, (*x.shape[:2], heads * size))
    return projected("attention_output", y, x.shape[-1])


LAYERS = {
    "dense": dense,
    "conv2d": conv2d,
    "activation": lambda layer, p, x: activate(layer, x),
    "dropout": lambda layer, p, x: x,
    "flatten": lambda layer, p, x: tf.reshape(x, (x.shape[0], -1)),
    "max_pooling2d": max_pooling2d,
    "zero_padding2d": zero_padding2d,
    "global_average_pooling2d": lambda layer, p, x: tf.reduce_mean(x, (1, 2)),
    "batch_normalization": batch_normalization,
    "layer_normalization": layer_normalization,
    "add": lambda layer, p, *x: tf.add_n(x),
    "embedding": lambda layer, p, x: tf.gather(
        p("embeddings", layer["input_dim"], layer["output_dim"]), x
    ),
    "position_embedding": lambda layer, p, x: x
    + p("embeddings", layer["sequence_length"], x.shape[-1])[: x.shape[1]],
    "multi_head_attention": multi_head_attention,
}


def loss(job, parameter, features, labels, compute):
    logits = tf.cast(forward(job, parameter, features, compute), tf.float32)
    if job.train["loss"] == "mean_squared_error":
        return tf.reduce_mean(
            tf.square(logits - tf.reshape(labels, logits.shape))
        )
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    )
