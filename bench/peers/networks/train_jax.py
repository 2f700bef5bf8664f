"""JAX on a job's network, the whole step compiled.

  train_jax.py JOB VARIANT THREADS PRECISION DEVICE BATCH
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402
from job import Job, make_data  # noqa: E402
from start_values import Maker  # noqa: E402

VARIANTS = ("jit",)


def main(path, variant, threads, precision, device, batch):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    if device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    import jax_network

    import_rss = common.rss_bytes()
    job, batch = Job(path), int(batch)
    compute = jnp.bfloat16 if precision == "bf16" else jnp.float32

    def set_up():
        features, labels = (jnp.asarray(a) for a in make_data(job, batch))
        maker = Maker()
        jax.eval_shape(
            lambda x: jax_network.forward(job, maker, x, compute), features
        )
        values = {name: jnp.asarray(v) for name, v in maker.values.items()}
        zeros = {name: jnp.zeros_like(v) for name, v in values.items()}
        del maker

        def loss_of(values):
            return jax_network.loss(
                job, lambda name, *_: values[name], features, labels, compute
            )

        def update(state):
            values, first, second, step = state
            loss, gradients = jax.value_and_grad(loss_of)(values)
            step = step + 1
            rate = 0.001 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            first = jax.tree.map(
                lambda m, g: 0.9 * m + 0.1 * g, first, gradients
            )
            second = jax.tree.map(
                lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients
            )
            values = jax.tree.map(
                lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7),
                values, first, second,
            )
            return (values, first, second, step), loss

        step = jax.jit(update, donate_argnums=0)
        state = (values, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(()))
        held = [state]
        del values, zeros, state

        def run():
            held[0], loss = step(held[0])
            return batch, float(loss)

        return run

    common.serve({"jax": jax.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(*sys.argv[1:])
