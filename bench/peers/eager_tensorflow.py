"""TensorFlow's eager ops, and a step of linear100 by hand."""

import os
import sys

import eager_worker


def main(threads):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def make_step(outputs, with_bias):
        x, y, w = map(tf.constant, eager_worker.make_step_data(outputs))
        weights = [tf.Variable(w)]
        if with_bias:
            weights.append(tf.Variable(tf.zeros(outputs)))

        def step():
            with tf.GradientTape() as tape:
                z = tf.matmul(x, weights[0])
                if with_bias:
                    z = z + weights[1]
                loss = tf.reduce_mean(tf.square(z - y))
            gradients = tape.gradient(loss, weights)
            for weight, gradient in zip(weights, gradients):
                weight.assign_sub(eager_worker.RATE * gradient)

        return step

    def set_up():
        a = tf.random.uniform((32, 32))
        return {
            "add": lambda: a + a,
            "matmul": lambda: tf.matmul(a, a),
            "linear1": make_step(1, False),
            "linear10": make_step(10, True),
        }

    eager_worker.serve(tf.__version__, set_up)


if __name__ == "__main__":
    main(sys.argv[1])
