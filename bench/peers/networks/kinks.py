"""Examples and start values at which no activation is near a kink.

Where a sum is next to nothing, rounding decides whether a relu lets its
gradient pass, and where two pixels of a window are as large as each other,
which of them gets it: results in 16 bits are then far apart, however well they
are computed. A few steps of descent lead away from all such places.
"""

import contextlib

import torch
from torch.nn import functional as F

import torch_layers
from torch_network import Network

MARGIN = 0.1  # of activations of about 1
STEPS = 200


class Nearness:
    """Sums up, while a network is called, how near its kinks are."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, distances):
        short = F.relu(MARGIN - distances)
        self.total = self.total + short.square().sum()
        self.count += int((short > 0.5 * MARGIN).sum())

    def relu(self, x):
        self.add(x.abs())
        return F.relu(x)

    def relu6(self, x):
        self.add(x.abs())
        self.add((x - 6).abs())
        return F.relu6(x)

    def max_pooling2d(self, layer, p, x):
        size = layer.pair("pool_size", 2)
        strides = layer.pair("strides", size)
        padded, padding = torch_layers.pad(
            layer, torch_layers.first(x), size, strides, (1, 1), 0.0
        )
        windows = F.unfold(padded, size, padding=padding, stride=strides)
        windows = windows.unflatten(1, (x.shape[-1], -1))
        largest = windows.topk(2, dim=2).values
        gaps = (largest[:, :, 0] - largest[:, :, 1])[largest[:, :, 0] > 0]
        self.add(gaps)
        return torch_layers.max_pooling2d(layer, p, x)

    @contextlib.contextmanager
    def watching(self):
        tables = torch_layers.ACTIVATIONS, torch_layers.LAYERS
        before = [dict(table) for table in tables]
        tables[0].update(relu=self.relu, relu6=self.relu6)
        tables[1].update(max_pooling2d=self.max_pooling2d)
        try:
            yield self
        finally:
            for table, old in zip(tables, before):
                table.update(old)


def avoid(job, features, values):
    """Both, moved as little as it takes."""
    network = Network(job, {n: torch.tensor(v) for n, v in values.items()})
    x = torch.tensor(features)
    moved = list(network.parameters())
    if x.is_floating_point():
        moved.append(x.requires_grad_())
    optimizer = torch.optim.Adam(moved, lr=0.003)
    for _ in range(STEPS):
        nearness = Nearness()
        with nearness.watching():
            network(x)
        if nearness.count == 0:
            break
        optimizer.zero_grad()
        nearness.total.backward()
        optimizer.step()
    return x.detach().numpy(), {
        name: value.detach().numpy() for name, value in network.values.items()
    }
