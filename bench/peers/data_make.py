"""Writes the record and image files of the comparison: data_make.py FOLDER."""

import os
import pathlib
import sys

import data_common as common


def make_records(tf, np, folder):
    rng = np.random.default_rng(1)
    for path in common.record_paths(folder):
        if os.path.exists(path):
            continue
        with tf.io.TFRecordWriter(path + ".part") as writer:
            for label in range(common.RECORDS_EACH):
                values = rng.random(common.VALUES, np.float32)
                feature = {
                    "features": tf.train.Feature(
                        float_list=tf.train.FloatList(value=values)
                    ),
                    "label": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[label % 10])
                    ),
                }
                example = tf.train.Example(
                    features=tf.train.Features(feature=feature)
                )
                writer.write(example.SerializeToString())
        os.rename(path + ".part", path)


def make_jpegs(tf, np, folder):
    """Smooth noise of several sizes compresses about as photographs do."""
    rng = np.random.default_rng(2)
    for number in range(common.JPEGS):
        name = f"class-{number % common.JPEG_CLASSES}"
        path = common.jpeg_folder(folder) / name / f"{number:04}.jpg"
        layers = []
        for cells, weight in ((4, 120), (16, 80), (64, 40), (256, 24)):
            noise = rng.random((cells, cells, 3), np.float32) - 0.5
            smooth = tf.image.resize(noise, (375, 500), "bicubic")
            layers.append(weight * smooth)
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        image = tf.clip_by_value(128 + tf.add_n(layers), 0, 255)
        encoded = tf.io.encode_jpeg(tf.cast(image, tf.uint8), quality=90)
        path.write_bytes(encoded.numpy())


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import numpy as np
    import tensorflow as tf

    folder = pathlib.Path(sys.argv[1])
    make_records(tf, np, folder)
    make_jpegs(tf, np, folder)


if __name__ == "__main__":
    main()
