#!/usr/bin/env python3
"""Writes vectors.json: parameters after each of a few updates by Keras 3.

  .venv-peers/bin/python tests/train/optimizers/make_vectors.py

Everything is f64 but the learning rate, which Keras keeps in f32: the rates
here are exact in it. optimizers_test.cpp reads the result and needs no Keras.
"""
import json
import os
import pathlib

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np

STEPS = 6
SHAPES = {"matrix": (4, 3), "vector": (5,), "cube": (2, 3, 4)}
RANDOM = np.random.default_rng(7)
RATE = 2.0**-6


def draw(scale=1.0):
    return {name: scale * RANDOM.normal(size=shape).astype(np.float32)
            for name, shape in SHAPES.items()}


START = draw()
# Large and small ones, so that clipping has something to do and to leave.
GRADIENTS = [draw(scale) for scale in (1.0, 3.0, 0.1, 0.01, 2.0, 0.5)]


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml(v)}"
                               for k, v in value.items()) + "}"
    return repr(value)


def run(kind, **options):
    """The job file's optimizer and the parameters after each update."""
    optimizer = getattr(keras.optimizers, kind)(**options)
    parameters = [keras.Variable(START[name].astype(np.float64), name=name,
                                 dtype="float64") for name in SHAPES]
    optimizer.build(parameters)
    updates = []
    for gradients in GRADIENTS:
        optimizer.apply([keras.ops.convert_to_tensor(
            gradients[name].astype(np.float64)) for name in SHAPES])
        updates.append([flat(p.numpy()) for p in parameters])
    return {"optimizer": toml({"type": kind.lower(), **options}),
            "updates": updates}


def flat(array):
    return [float(value) for value in np.asarray(array).ravel()]


def cases():
    yield run("SGD", learning_rate=RATE)
    yield run("SGD", learning_rate=RATE, momentum=0.9)
    yield run("SGD", learning_rate=RATE, momentum=0.9, nesterov=True)
    yield run("Adam", learning_rate=RATE, beta_1=0.8, epsilon=1e-5)
    for momentum in (0.0, 0.75):
        for centered in (False, True):
            yield run("RMSprop", learning_rate=RATE, rho=0.8,
                      momentum=momentum, epsilon=1e-5, centered=centered)
    yield run("Adagrad", learning_rate=RATE)
    yield run("Adagrad", learning_rate=RATE, initial_accumulator_value=0.5,
              epsilon=1e-3)


def main():
    whole = {
        "shapes": list(SHAPES.values()),
        "start": [flat(START[name]) for name in SHAPES],
        "gradients": [[flat(one[name]) for name in SHAPES]
                      for one in GRADIENTS],
        "cases": list(cases()),
    }
    path = pathlib.Path(__file__).parent / "vectors.json"
    lines = ",\n".join(json.dumps(one) for one in whole.pop("cases"))
    text = json.dumps(whole)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n"
    path.write_text(text)


if __name__ == "__main__":
    main()
