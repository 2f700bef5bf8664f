"""Writes resize_vectors.h: what tf.image.resize makes of small images.

Needs TensorFlow 2. The inputs are made anew by resize_test.cpp: element i is
i * 37 % 251, for f32 divided by 16 and less 5.
"""
import pathlib

import numpy as np
import tensorflow as tf

CASES = [  # input height, width, channels, output height, width
    (4, 5, 1, 7, 9),
    (7, 6, 3, 3, 4),
    (5, 5, 4, 8, 3),
    (6, 9, 2, 2, 17),
    (1, 1, 3, 2, 3),
    (13, 3, 1, 5, 1),
]


def image(shape, dtype):
    values = np.arange(np.prod(shape)) * 37 % 251
    if dtype == np.float32:
        values = values.astype(np.float32) / np.float32(16) - np.float32(5)
    return values.astype(dtype).reshape(shape)


def rows(values, text):
    lines, line = [], "       "
    for value in values:
        word = " " + text(value) + ","
        if len(line) + len(word) > 80:
            lines.append(line)
            line = "       "
        line += word
    return "\n".join(lines + [line])


out = [
    "// Made by make_resize_vectors.py with TensorFlow " + tf.__version__ + ".",
    "#pragma once",
    "",
    "#include <cstdint>",
    "#include <vector>",
    "",
    "namespace plimsoll::data {",
    "",
    "struct ResizeVector {",
    "  std::int64_t height, width, channels;",
    "  std::int64_t out_height, out_width;",
    "  bool bytes;  // u8, else f32",
    "  std::vector<float> bilinear;",
    "  std::vector<float> nearest;",
    "};",
    "",
    "// clang-format off",
    "inline const std::vector<ResizeVector> kResizeVectors = {",
]
for height, width, channels, to_height, to_width in CASES:
    for dtype in (np.uint8, np.float32):
        x = image((height, width, channels), dtype)
        size = (to_height, to_width)
        bilinear = tf.image.resize(x, size, antialias=False).numpy()
        nearest = tf.image.resize(x, size, method="nearest").numpy()
        out.append(f"    {{{height}, {width}, {channels}, {to_height}, "
                   f"{to_width}, {str(dtype == np.uint8).lower()},")
        for values in (bilinear, nearest):
            text = rows(values.astype(np.float32).ravel(),
                        lambda v: f"{np.format_float_positional(v, trim='0')}f")
            out.append("     {\n" + text + "\n     },")
        out.append("    },")
out += ["};", "// clang-format on", "", "}  // namespace plimsoll::data", ""]
(pathlib.Path(__file__).parent / "resize_vectors.h").write_text("\n".join(out))
