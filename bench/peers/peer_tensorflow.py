"""TensorFlow: tf.function, compiled by XLA or not, many steps per call."""

import os
import sys

import common

VARIANTS = ("xla_loop", "xla_unrolled8", "graph_loop", "graph_unrolled8")


def main(job, variant, threads):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    import_rss = common.rss_bytes()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    adam, binary = common.ADAM, common.JOBS[job]["loss"] == "binary"

    def loss_of(parameters, x, y):
        layers = list(zip(parameters[::2], parameters[1::2]))
        for kernel, bias in layers[:-1]:
            x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, kernel), bias))
        kernel, bias = layers[-1]
        z = tf.nn.bias_add(tf.matmul(x, kernel), bias)
        if binary:
            return tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z)
            )
        return tf.reduce_mean(tf.math.squared_difference(z, y))

    def step(state, x, y):
        parameters, first, second, t = state
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            loss = loss_of(parameters, x, y)
        gradients = tape.gradient(loss, parameters)
        t = t + 1.0
        b1, b2 = adam["beta_1"], adam["beta_2"]
        rate = adam["learning_rate"] * tf.sqrt(1 - b2**t) / (1 - b1**t)
        first = [m + (1 - b1) * (g - m) for m, g in zip(first, gradients)]
        second = [v + (1 - b2) * (g * g - v) for v, g in zip(second, gradients)]
        parameters = [
            p - rate * m / (tf.sqrt(v) + adam["epsilon"])
            for p, m, v in zip(parameters, first, second)
        ]
        return (parameters, first, second, t), loss

    def set_up():
        features, labels = (tf.constant(a) for a in common.make_data(job))
        parameters = [tf.constant(p) for p in common.make_parameters(job)]
        zeros = [tf.zeros_like(p) for p in parameters]
        holder = {"state": (parameters, zeros, list(zeros), tf.constant(0.0))}
        steps = int(features.shape[0])
        examples = steps * common.BATCH
        compiled = variant.startswith("xla")

        if variant.endswith("loop"):

            @tf.function(jit_compile=compiled)
            def epoch(state, x, y):
                loss = tf.constant(0.0)
                for i in tf.range(steps):
                    state, loss = step(state, x[i], y[i])
                return state, loss

            def run():
                holder["state"], loss = epoch(
                    holder["state"], features, labels
                )
                return examples, float(loss)

            return run

        per_call = 8

        @tf.function(jit_compile=compiled)
        def several(state, x, y):
            loss = tf.constant(0.0)
            for i in range(per_call):
                state, loss = step(state, x[i], y[i])
            return state, loss

        calls = [
            (features[i : i + per_call], labels[i : i + per_call])
            for i in range(0, steps, per_call)
        ]
        del features, labels

        def run():
            loss = 0.0
            for x, y in calls:
                holder["state"], loss = several(holder["state"], x, y)
            return examples, float(loss)

        return run

    common.serve({"tensorflow": tf.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
