#!/usr/bin/env python3
"""Writes the op cases in cases/ from NumPy in float64.

Usage: make_references.py [FOLDER]. Inputs are rounded to f32 first, so that
f32 and f64 kernels see the same numbers. Needs NumPy only.
"""
import json
import pathlib
import sys

from attention_cases import attention
from case import CASES
from dense_cases import (dropout, loss, matmul, movement, random_fills,
                         reduction, softmax, update)
from elementwise_cases import elementwise, more_elementwise
from move_cases import indexing, moves, packing, resize
from network_cases import (biased_linear_loss, convolution, embedding,
                           linear_loss, normalization, pooling)
from recurrent_cases import recurrent


def main():
    folder = pathlib.Path(__file__).parent / "cases"
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for family in (elementwise, movement, matmul, reduction, softmax, loss,
                   dropout, update, more_elementwise, moves, indexing,
                   resize, embedding, linear_loss, normalization, pooling,
                   random_fills, recurrent, packing, convolution, attention,
                   biased_linear_loss):
        family()
    for family, cases in CASES.items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":"),
                                      allow_nan=False) for c in cases)
        (folder / f"{family}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
