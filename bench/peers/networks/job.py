"""A job file as every peer reads it: layers with names and inputs resolved."""

import pathlib
import tomllib


class Layer(dict):
    """One layer's table; `name` and `inputs` are always there."""

    def pair(self, key, fallback=1):
        """Two numbers, given as one or as two."""
        value = self.get(key, fallback)
        return (value, value) if isinstance(value, int) else tuple(value)

    def borders(self, key, fallback):
        """Zeros at the top, bottom, left and right."""
        value = self.get(key, fallback)
        if value == "valid":
            return 0, 0, 0, 0
        if isinstance(value, int):
            return (value,) * 4
        if len(value) == 2:
            return value[0], value[0], value[1], value[1]
        return tuple(value)


def resolve(tables):
    counts, layers, before = {}, [], "input"
    for table in tables:
        layer = Layer(table)
        counts[layer["type"]] = counts.get(layer["type"], 0) + 1
        layer.setdefault("name", f"{layer['type']}_{counts[layer['type']]}")
        inputs = layer.get("inputs", before)
        layer["inputs"] = [inputs] if isinstance(inputs, str) else inputs
        before = layer["name"]
        layers.append(layer)
    return layers


class Job:
    def __init__(self, path):
        table = tomllib.loads(pathlib.Path(path).read_text())
        self.input = table["model"]["input"]
        self.tables = table["model"]["layers"]
        for one in self.tables:
            if one["type"] == "dropout":
                one["rate"] = 0  # what it drops cannot be compared
        self.layers = resolve(self.tables)
        self.source = table["data"]["source"]
        self.train = table["train"]

    def takes_indices(self):
        """Whether examples are class indices."""
        return "classes" in self.source


def make_data(job, examples, seed=1):
    """Features and labels of the shapes that the job's own source has."""
    import numpy as np

    draw = np.random.default_rng(seed)
    if job.takes_indices():
        classes = min(
            layer["input_dim"]
            for layer in job.layers
            if layer["type"] == "embedding"
        )
        shape = (examples, *job.input)
        features = draw.integers(0, classes, shape, dtype=np.int32)
    else:
        shape = (examples, *job.input)
        features = draw.standard_normal(shape, dtype=np.float32)
    labels = job.source["labels"]
    shape = (examples, *labels.get("shape", []))
    if labels["type"] == "classes":
        return features, draw.integers(0, labels["count"], shape, np.int32)
    if labels["type"] == "binary":
        shape = shape if "shape" in labels else (examples, 1)
        return features, draw.integers(0, 2, shape).astype(np.float32)
    labels = draw.random(shape, dtype=np.float32)
    if job.train["loss"] == "categorical_crossentropy":
        labels /= labels.sum(-1, keepdims=True)
    return features, labels


def same_padding(extent, kernel, stride, dilation):
    """Keras's: what is left over goes behind."""
    reach = (kernel - 1) * dilation + 1
    whole = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
    return whole // 2, whole - whole // 2
