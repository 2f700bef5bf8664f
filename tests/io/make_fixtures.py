#!/usr/bin/env python3
"""Writes tests/io/fixtures: small files by TensorFlow, NumPy and Python, which
fixtures_test.cpp reads. Run it with a Python that has TensorFlow; the files
are kept, so that the tests need none.
"""
import csv
import pathlib

import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).parent / "fixtures"


def example(i):
    floats = tf.train.FloatList(value=[i, i + 0.5, -i])
    label = tf.train.Int64List(value=[i * 1000 - 1])
    sizes = tf.train.Int64List(value=[k << 40 for k in range(i)])
    name = tf.train.BytesList(value=[f"example {i}".encode()])
    return tf.train.Example(features=tf.train.Features(feature={
        "x": tf.train.Feature(float_list=floats),
        "label": tf.train.Feature(int64_list=label),
        "sizes": tf.train.Feature(int64_list=sizes),
        "name": tf.train.Feature(bytes_list=name),
        "unused": tf.train.Feature(bytes_list=name),
    })).SerializeToString()


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, options in [("tensorflow.tfrecord", None),
                          ("tensorflow_gzip.tfrecord", "GZIP")]:
        with tf.io.TFRecordWriter(str(FOLDER / name), options) as writer:
            for i in range(5):
                writer.write(example(i))
    table = np.arange(12, dtype=np.float32).reshape(4, 3) / np.float32(7)
    for name in ["numpy.csv", "numpy.csv.gz"]:
        np.savetxt(FOLDER / name, table, delimiter=",", header="a,b,c",
                   comments="")
    np.save(FOLDER / "numpy.npy", np.arange(6, dtype="<f4").reshape(2, 3))
    texts = ["plain", "with, comma", 'with "quotes"', "two\nlines",
             "two\r\nlines", "", '"']
    with open(FOLDER / "python.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "length"])
        for text in texts:
            writer.writerow([text, len(text)])


if __name__ == "__main__":
    main()
