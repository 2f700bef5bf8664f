"""Parameters of a network as its first call asks for them."""

import math

import numpy as np


class Maker:
    """parameter(name, shape, start) while the network is called for the first
    time. Vectors are `start` with a normal spread about it, scales with a small
    one: next to 0 they magnify whatever they divide."""

    def __init__(self, spread=0.0, seed=2):
        self.values = {}
        self.spread = spread
        self.draw = np.random.default_rng(seed)

    def __call__(self, name, shape, start=None):
        if name not in self.values:
            value = self.draw.standard_normal(shape, dtype=np.float32)
            if start is not None or len(shape) == 1:
                spread = min(self.spread, 0.2) if start else self.spread
                value = float(start or 0) + spread * value
            elif len(shape) == 4:
                value *= math.sqrt(2 / math.prod(shape[1:]))
            else:
                value /= math.sqrt(shape[0])
            self.values[name] = np.float32(value)
        return self.values[name]
