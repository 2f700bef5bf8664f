"""JAX: one jitted lax.scan over the preloaded batches, buffers donated."""

import os
import sys

import common
import jax_step

VARIANTS = ("scan", "scan_unroll4", "scan_one_thread_eigen", "python_loop")


def main(job, variant, threads):
    if variant == "scan_one_thread_eigen" or threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    import_rss = common.rss_bytes()
    step = jax_step.make_step(job)

    def set_up():
        features, labels = (jnp.asarray(a) for a in common.make_data(job))
        holder = {"state": jax_step.start(job)}
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
