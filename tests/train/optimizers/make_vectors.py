#!/usr/bin/env python3
"""Writes vectors.json: parameters after each of a few updates by Keras 3.

  .venv-peers/bin/python tests/train/optimizers/make_vectors.py

Everything is f64 but learning rates and clipping, which Keras keeps in f32: the
numbers here are exact in it. optimizers_test.cpp reads the result and needs no Keras.
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
    if callable(options.get("learning_rate")):
        options.pop("learning_rate")
    return {"optimizer": toml({"type": kind.lower(), **options}),
            "updates": updates}


SCHEDULES = {
    "ExponentialDecay": "exponential_decay",
    "InverseTimeDecay": "inverse_time_decay",
    "PolynomialDecay": "polynomial_decay",
    "CosineDecay": "cosine_decay",
    "PiecewiseConstantDecay": "piecewise_constant",
}


def scheduled(kind, **options):
    schedule = getattr(keras.optimizers.schedules, kind)(**options)
    made = run("SGD", learning_rate=schedule)
    rate = {"type": SCHEDULES[kind], **options}
    return {**made,
            "optimizer": toml({"type": "sgd", "learning_rate": rate})}


def flat(array):
    return [float(f"{value:.12g}") for value in np.asarray(array).ravel()]


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
    for clipping in ("clipnorm", "clipvalue", "global_clipnorm"):
        yield run("SGD", learning_rate=RATE, **{clipping: 0.75})
        yield run("Adam", learning_rate=RATE, **{clipping: 0.75})
    for staircase in (False, True):
        for kind in ("ExponentialDecay", "InverseTimeDecay"):
            yield scheduled(kind, initial_learning_rate=0.5, decay_steps=2,
                            decay_rate=0.75, staircase=staircase)
    for cycle in (False, True):
        yield scheduled("PolynomialDecay", initial_learning_rate=0.5,
                        decay_steps=3, end_learning_rate=0.125, power=2.0,
                        cycle=cycle)
    yield scheduled("CosineDecay", initial_learning_rate=0.5, decay_steps=4,
                    alpha=0.25)
    yield scheduled("CosineDecay", initial_learning_rate=0.0, decay_steps=3,
                    warmup_target=0.5, warmup_steps=2)
    yield scheduled("PiecewiseConstantDecay", boundaries=[1, 3],
                    values=[0.5, 0.25, 0.125])
    yield run("AdamW", learning_rate=RATE, weight_decay=0.25, beta_1=0.8,
              epsilon=1e-5)
    yield run("Lamb", learning_rate=RATE, epsilon=1e-6)
    yield run("Adafactor", learning_rate=RATE)
    yield run("Adafactor", learning_rate=0.5, beta_2_decay=-0.5,
              epsilon_2=0.25, clip_threshold=0.5)


def main():
    whole = {
        "shapes": list(SHAPES.values()),
        "start": [START[name].ravel().tolist() for name in SHAPES],
        "gradients": [[one[name].ravel().tolist() for name in SHAPES]
                      for one in GRADIENTS],
        "cases": list(cases()),
    }
    path = pathlib.Path(__file__).parent / "vectors.json"
    lines = ",\n".join(json.dumps(one) for one in whole.pop("cases"))
    text = json.dumps(whole)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n"
    path.write_text(text)


if __name__ == "__main__":
    main()
