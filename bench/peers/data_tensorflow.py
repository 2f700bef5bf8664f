"""tf.data: each case in the ways it is usually made fast.

A last stage that lets one batch of many through keeps Python out of the
count: everything before it runs in TensorFlow's own threads.
"""

import os
import sys

import common
import data_common as data

VARIANTS = {
    "memory": ("elements", "numbers", "batches_of_numbers"),
    "npy": ("records", "blocks", "memory_map"),
    "tfrecord": ("interleaved", "parallel_reads", "one_after_another"),
    "resize": ("per_element", "per_batch", "stored_batches"),
    "jpeg": ("per_file", "per_file_fast_dct"),
}
BATCHES_LET_THROUGH = 64  # one of so many
BATCHES_LET_THROUGH_JPEG = 4


def shuffled_batches_of_numbers(tf, count):
    """One permutation an epoch, cut into batches before anything else."""
    whole = count // data.BATCH * data.BATCH

    def epoch(_):
        order = tf.random.shuffle(tf.range(count, dtype=tf.int64))
        order = tf.reshape(order[:whole], [-1, data.BATCH])
        return tf.data.Dataset.from_tensor_slices(order)

    return tf.data.Dataset.range(1).repeat().flat_map(epoch)


def memory(tf, variant, _):
    features = tf.random.uniform([data.ROWS, data.VALUES])
    labels = tf.range(data.ROWS, dtype=tf.int32) % 10

    def take(numbers):
        return tf.gather(features, numbers), tf.gather(labels, numbers)

    if variant == "elements":
        rows = tf.data.Dataset.from_tensor_slices((features, labels))
        return rows.shuffle(data.ROWS).repeat().batch(data.BATCH)
    if variant == "numbers":
        numbers = tf.data.Dataset.range(data.ROWS).shuffle(data.ROWS)
        numbers = numbers.repeat().batch(data.BATCH)
    else:
        numbers = shuffled_batches_of_numbers(tf, data.ROWS)
    return numbers.map(take, num_parallel_calls=tf.data.AUTOTUNE)


def npy(tf, variant, folder):
    path = data.npy_path(folder)
    header, rows = data.npy_header_bytes(path), data.npy_rows(path)
    row_bytes = 4 * data.VALUES

    def decode(records):
        values = tf.io.decode_raw(records, tf.float32)
        return tf.reshape(values, [-1, data.VALUES])

    def records(bytes_each, footer=0):
        return tf.data.FixedLengthRecordDataset(
            str(path),
            bytes_each,
            header_bytes=header,
            footer_bytes=footer,
            buffer_size=1 << 20,
        )

    window_rows = data.BLOCK_ROWS * data.WINDOW_BLOCKS
    if variant == "records":
        read = records(row_bytes).shuffle(window_rows).repeat()
        return read.batch(data.BATCH).map(
            decode, num_parallel_calls=tf.data.AUTOTUNE
        )
    if variant == "blocks":

        def batches(blocks):
            order = tf.random.shuffle(tf.range(window_rows))
            mixed = tf.gather(decode(blocks), order)
            return tf.reshape(mixed, [-1, data.BATCH, data.VALUES])

        read = records(
            row_bytes * data.BLOCK_ROWS, rows % data.BLOCK_ROWS * row_bytes
        )
        windows = read.shuffle(data.WINDOW_BLOCKS).repeat()
        windows = windows.batch(data.WINDOW_BLOCKS, drop_remainder=True)
        mixed = windows.map(batches, num_parallel_calls=tf.data.AUTOTUNE)
        return mixed.unbatch()

    import numpy as np

    stored = np.load(path, mmap_mode="r")

    def take(numbers):
        got = tf.numpy_function(lambda n: stored[n], [numbers], tf.float32)
        return tf.ensure_shape(got, [data.BATCH, data.VALUES])

    numbers = shuffled_batches_of_numbers(tf, rows)
    return numbers.map(take, num_parallel_calls=tf.data.AUTOTUNE)


def tfrecord(tf, variant, folder):
    paths = data.record_paths(folder)
    spec = {
        "features": tf.io.FixedLenFeature([data.VALUES], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    if variant == "interleaved":
        files = tf.data.Dataset.from_tensor_slices(paths).repeat()
        records = files.interleave(
            lambda path: tf.data.TFRecordDataset(path, buffer_size=1 << 20),
            cycle_length=len(paths),
            block_length=data.BATCH,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=False,
        )
    else:
        reads = 2 if variant == "parallel_reads" else None
        records = tf.data.TFRecordDataset(
            paths, buffer_size=1 << 20, num_parallel_reads=reads
        ).repeat()
    return records.batch(data.BATCH).map(
        lambda batch: tf.io.parse_example(batch, spec),
        num_parallel_calls=tf.data.AUTOTUNE,
    )


def resize(tf, variant, _):
    images = tf.random.uniform([data.IMAGES, data.SIDE, data.SIDE, 1])
    size = [data.LARGE_SIDE, data.LARGE_SIDE]

    def enlarge(image):
        return tf.image.resize(image, size)

    if variant == "stored_batches":
        batches = tf.reshape(images, [-1, data.BATCH, data.SIDE, data.SIDE, 1])
        stored = tf.data.Dataset.from_tensor_slices(batches).repeat()
        return stored.map(enlarge, num_parallel_calls=tf.data.AUTOTUNE)
    stored = tf.data.Dataset.from_tensor_slices(images).repeat()
    if variant == "per_batch":
        stored = stored.batch(data.BATCH)
    stored = stored.map(enlarge, num_parallel_calls=tf.data.AUTOTUNE)
    return stored if variant == "per_batch" else stored.batch(data.BATCH)


def jpeg(tf, variant, folder):
    paths = sorted(map(str, data.jpeg_folder(folder).glob("*/*.jpg")))
    names = [os.path.basename(os.path.dirname(path)) for path in paths]
    labels = [sorted(set(names)).index(name) for name in names]
    method = "INTEGER_FAST" if variant == "per_file_fast_dct" else ""

    def decode(path, label):
        image = tf.io.decode_jpeg(
            tf.io.read_file(path), channels=3, dct_method=method
        )
        size = [data.JPEG_SIDE, data.JPEG_SIDE]
        return tf.image.resize(image, size), label

    files = tf.data.Dataset.from_tensor_slices((paths, labels)).repeat()
    images = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return images.batch(data.BATCH)


def main(case, variant, threads, folder):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    import_rss = common.rss_bytes()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    of_many = BATCHES_LET_THROUGH
    if case == "jpeg":
        of_many = BATCHES_LET_THROUGH_JPEG

    def set_up():
        batches = globals()[case](tf, variant, folder)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        options.deterministic = False
        batches = batches.prefetch(tf.data.AUTOTUNE).with_options(options)
        few = iter(batches.shard(of_many, of_many - 1))

        def run():
            next(few)
            return of_many * data.BATCH, 0.0

        return run

    common.serve({"tensorflow": tf.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
