"""JAX: one jitted lax.scan over the preloaded batches, buffers donated."""

import os
import sys

import common

VARIANTS = ("scan", "scan_unroll4", "scan_one_thread_eigen", "python_loop")


def main(job, variant, threads):
    if variant == "scan_one_thread_eigen" or threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    import_rss = common.rss_bytes()
    adam, binary = common.ADAM, common.JOBS[job]["loss"] == "binary"

    def loss_of(parameters, x, y):
        layers = list(zip(parameters[::2], parameters[1::2]))
        for kernel, bias in layers[:-1]:
            x = jax.nn.relu(x @ kernel + bias)
        z = x @ layers[-1][0] + layers[-1][1]
        if binary:
            loss = jax.nn.relu(z) - z * y + jnp.log1p(jnp.exp(-jnp.abs(z)))
            return jnp.mean(loss)
        return jnp.mean(jnp.square(z - y))

    def step(state, batch):
        parameters, first, second, t = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *batch)
        t = t + 1
        b1, b2 = adam["beta_1"], adam["beta_2"]
        rate = adam["learning_rate"] * jnp.sqrt(1 - b2**t) / (1 - b1**t)
        first = [b1 * m + (1 - b1) * g for m, g in zip(first, gradients)]
        second = [b2 * v + (1 - b2) * g * g for v, g in zip(second, gradients)]
        parameters = [
            p - rate * m / (jnp.sqrt(v) + adam["epsilon"])
            for p, m, v in zip(parameters, first, second)
        ]
        return (parameters, first, second, t), loss

    def set_up():
        features, labels = (jnp.asarray(a) for a in common.make_data(job))
        parameters = [jnp.asarray(p) for p in common.make_parameters(job)]
        zeros = [jnp.zeros_like(p) for p in parameters]
        state = (parameters, zeros, [z.copy() for z in zeros], jnp.float32(0))
        holder = {"state": state}
        examples = features.shape[0] * features.shape[1]

        if variant == "python_loop":
            one = jax.jit(step, donate_argnums=0)
            batches = [(features[i], labels[i]) for i in range(len(features))]

            def run():
                for batch in batches:
                    holder["state"], loss = one(holder["state"], batch)
                return examples, float(loss)

            return run

        unroll = 4 if variant == "scan_unroll4" else 1

        def epoch(state, x, y):
            state, losses = jax.lax.scan(step, state, (x, y), unroll=unroll)
            return state, losses[-1]

        compiled = jax.jit(epoch, donate_argnums=0)

        def run():
            holder["state"], loss = compiled(holder["state"], features, labels)
            return examples, float(loss)

        return run

    common.serve({"jax": jax.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
