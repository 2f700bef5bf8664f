"""Parameters of a network as its first call asks for them."""

import numpy as np


class Maker:
    """p(name, *shape) while the network is called for the first time."""

    def __init__(self):
        self.values = {}
        self.draw = np.random.default_rng(2)

    def __call__(self, name, shape, start=None):
        if name in self.values:
            return self.values[name]
        if start is not None or len(shape) == 1:
            value = np.full(shape, float(start or 0), np.float32)
        else:
            value = self.draw.standard_normal(shape, dtype=np.float32)
            value /= max(1, shape[0]) ** 0.5
        self.values[name] = value
        return value
