"""A job's network and loss in PyTorch."""

import torch
from torch.nn import functional as F

from torch_layers import LAYERS


class Parameters:
    """A layer's parameters by their last name, in the type it computes in."""

    def __init__(self, network, layer):
        self.network, self.layer = network, layer

    def __call__(self, name, *shape, start=None):
        return self.of(self.layer, name, shape, start)

    def of(self, layer, name, shape, start=None):
        value = self.network.parameter(f"{layer}/{name}", shape, start)
        wanted = self.network.compute
        return value if value.dtype == wanted else value.to(wanted)


class Network(torch.nn.Module):
    """`values` are named tensors, as Plimsoll's checkpoints hold them.

    Without them a first call has them made by `make`.
    """

    def __init__(self, job, values=None, dtype=torch.float32, make=None):
        super().__init__()
        self.job, self.compute = job, dtype
        self.values = {}
        self.make = make
        for name, value in (values or {}).items():
            self.keep(name, value)
        last = job.layers[-1]
        if "crossentropy" in job.train["loss"] and last.get("activation") in (
            "sigmoid",
            "softmax",
        ):
            last["activation"] = "linear"  # the loss takes logits

    def keep(self, name, value):
        self.values[name] = torch.nn.Parameter(value)
        self.register_parameter(name.replace(".", "_"), self.values[name])

    def parameter(self, name, shape, start):
        if name not in self.values:
            if self.make is None:
                raise KeyError(f"no {name} among the given parameters")
            value = torch.from_numpy(self.make(name, shape, start))
            self.keep(name, value.to(torch.float32))
        value = self.values[name]
        if shape and tuple(value.shape) != tuple(shape):
            raise ValueError(f"{name} is {tuple(value.shape)}, not {shape}")
        return value

    def forward(self, features):
        made = {"input": features}
        if features.is_floating_point():
            made["input"] = features.to(self.compute)
        for layer in self.job.layers:
            own = Parameters(self, layer["name"])
            inputs = [made[name] for name in layer["inputs"]]
            more = {"mask": made[layer["mask"]]} if "mask" in layer else {}
            made[layer["name"]] = LAYERS[layer["type"]](
                layer, own, *inputs, **more
            )
        return made[self.job.layers[-1]["name"]]

    def loss(self, features, labels):
        """The mean over examples, computed in f32 or wider."""
        logits = self(features)
        if logits.dtype in (torch.bfloat16, torch.float16):
            logits = logits.float()
        name = self.job.train["loss"]
        if name == "mean_squared_error":
            return F.mse_loss(logits, labels.reshape(logits.shape))
        if name == "mean_absolute_error":
            return F.l1_loss(logits, labels.reshape(logits.shape))
        if name == "binary_crossentropy":
            return F.binary_cross_entropy_with_logits(
                logits, labels.reshape(logits.shape)
            )
        flat = logits.reshape(-1, logits.shape[-1])
        if name == "categorical_crossentropy":
            return F.cross_entropy(flat, labels.reshape(flat.shape))
        return F.cross_entropy(flat, labels.reshape(-1).long())


def gradients(job, values, features, labels, precision="f64"):
    """The loss and all gradients. In 16 bits parameters are f32, as Plimsoll's
    are."""
    dtype = {"f64": torch.float64}.get(precision, torch.float32)
    network = Network(
        job,
        {name: torch.tensor(v, dtype=dtype) for name, v in values.items()},
        {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision, dtype),
    )
    x, y = torch.from_numpy(features), torch.from_numpy(labels)
    loss = network.loss(x, y.to(dtype) if y.is_floating_point() else y)
    loss.backward()
    made = {
        name: value.grad.to(torch.float64).numpy()
        for name, value in network.values.items()
    }
    return float(loss.detach()), made
