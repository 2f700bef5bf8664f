"""TensorFlow on a job's network, as a function, also compiled by XLA.

  train_tensorflow.py JOB VARIANT THREADS PRECISION DEVICE BATCH
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402
from job import Job, make_data  # noqa: E402
from start_values import Maker  # noqa: E402

VARIANTS = ("function", "xla")


def main(path, variant, threads, precision, device, batch):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    import tensorflow_network as network

    import_rss = common.rss_bytes()
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(1)
    job, batch = Job(path), int(batch)
    compute = tf.bfloat16 if precision == "bf16" else tf.float32

    def set_up():
        features, labels = (tf.constant(a) for a in make_data(job, batch))
        maker = Maker()
        network.forward(job, maker, features[:1], compute)
        values = {name: tf.Variable(v) for name, v in maker.values.items()}
        del maker
        first = [tf.Variable(tf.zeros_like(v)) for v in values.values()]
        second = [tf.Variable(tf.zeros_like(v)) for v in values.values()]
        count = tf.Variable(0.0)

        def step():
            with tf.GradientTape() as tape:
                loss = network.loss(
                    job, lambda name, *_: values[name], features, labels,
                    compute,
                )
            gradients = tape.gradient(loss, list(values.values()))
            count.assign_add(1.0)
            rate = (
                0.001 * tf.sqrt(1 - tf.pow(0.999, count))
                / (1 - tf.pow(0.9, count))
            )
            for w, m, v, g in zip(values.values(), first, second, gradients):
                g = tf.convert_to_tensor(g)
                m.assign(0.9 * m + 0.1 * g)
                v.assign(0.999 * v + 0.001 * g * g)
                w.assign_sub(rate * m / (tf.sqrt(v) + 1e-7))
            return loss

        do = tf.function(step, jit_compile=variant == "xla")

        def run():
            return batch, float(do())

        return run

    common.serve({"tensorflow": tf.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(*sys.argv[1:])
