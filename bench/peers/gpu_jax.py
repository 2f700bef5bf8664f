"""JAX on a GPU: one jitted step, batches of 32 from a shuffled host array."""

import os
import sys

import common
import jax_step

VARIANTS = ("jit",)


def main(job):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import numpy as np

    import_rss = common.rss_bytes()
    step = jax.jit(jax_step.make_step(job), donate_argnums=0)

    def set_up():
        features, labels = (
            a.reshape(-1, a.shape[-1]) for a in common.make_data(job)
        )
        random = np.random.default_rng(3)
        holder = {"state": jax_step.start(job)}

        def run():
            order = random.permutation(len(features))
            for start in range(0, 512 * common.BATCH, common.BATCH):
                chosen = order[start : start + common.BATCH]
                batch = jax.device_put((features[chosen], labels[chosen]))
                holder["state"], loss = step(holder["state"], batch)
            return 512 * common.BATCH, float(loss)

        return run

    if jax.default_backend() != "gpu":
        raise SystemExit("this JAX sees no GPU")
    common.serve({"jax": jax.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1])
