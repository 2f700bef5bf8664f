"""The jobs as JAX functions."""

import common


def make_step(job):
    """A function from (state, (x, y)) to the next state and the loss."""
    import jax
    import jax.numpy as jnp

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

    return step


def start(job):
    """The state before the first step."""
    import jax.numpy as jnp

    parameters = [jnp.asarray(p) for p in common.make_parameters(job)]
    zeros = [jnp.zeros_like(p) for p in parameters]
    return (parameters, zeros, [z.copy() for z in zeros], jnp.float32(0))
