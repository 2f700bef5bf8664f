"""Bad files, budgets and sizes: a clear message, never a crash, and never
more memory than the budget."""
import struct

from harness import (MIB, PROGRAM, SANITIZED, JobTest, main, npy_header,
                     read_json, small_job, write_npy)

EXAMPLES = 200
FEATURES = 16
BUDGET = 64


class BadInput(JobTest):
    def expect(self, job, parts, codes=(1, 2), arguments=()):
        """`plan` and `train` both refuse; the message has all of `parts`."""
        path = self.write_job(job)
        limit = ("--host-memory", f"{BUDGET}MiB")
        figures = self.path("watch.json")
        for command in ("plan", "train"):
            ran = self.plimsoll("watch", "--json", figures, "--host-memory",
                                f"{BUDGET}MiB", "--", PROGRAM, command, path,
                                *limit, *arguments)
            self.assertIn(ran.code, codes, f"{command}: {ran.err}")
            for part in parts:
                self.assertIn(part, ran.err + ran.out, command)
            if not SANITIZED:
                peak = read_json(figures)["peak_bytes"]
                self.assertLessEqual(peak, BUDGET * MIB, command)
        return ran


class BadFiles(BadInput):
    def setUp(self):
        super().setUp()
        self.job = small_job(features=FEATURES)
        self.job["data"]["source"] = {"type": "npy", "features": "x.npy",
                                      "labels": "y.npy"}
        self.values = struct.pack("<f", 0.5) * (EXAMPLES * FEATURES)
        write_npy(self.path("x.npy"), (EXAMPLES, FEATURES), "<f4",
                  self.values)
        write_npy(self.path("y.npy"), (EXAMPLES,), "<f4",
                  struct.pack("<f", 1) * EXAMPLES)

    def write(self, data, name="x.npy"):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def test_good_files_train(self):
        self.train(self.write_job(self.job), watched=False)

    def test_truncated(self):
        whole = npy_header((EXAMPLES, FEATURES), "<f4") + self.values
        for length in (0, 5, 9, 40, 128, len(whole) - 1):
            with self.subTest(length=length):
                self.write(whole[:length])
                self.expect(self.job, ["x.npy"])

    def test_fortran_order(self):
        self.write(npy_header((EXAMPLES, FEATURES), "<f4", fortran=True) +
                   self.values)
        self.expect(self.job, ["x.npy", "ortran"])

    def test_types_that_are_no_numbers_to_train_on(self):
        for descr, size in (("<c8", 8), ("<c16", 16), ("|O", 8), ("<U4", 16),
                            ("|S8", 8), ("<M8[s]", 8), (">f4", 4),
                            ("|V4", 4)):
            with self.subTest(descr):
                self.write(npy_header((EXAMPLES, FEATURES), descr) +
                           bytes(size * EXAMPLES * FEATURES))
                self.expect(self.job, ["x.npy", descr])

    def test_a_header_that_claims_too_much(self):
        for shape in ((1 << 60, FEATURES), (1 << 60,), (1 << 31, 1 << 31),
                      (1 << 62, 4), (EXAMPLES, 1 << 58),
                      (10**30, FEATURES)):
            with self.subTest(shape=shape):
                self.write(npy_header(shape, "<f4") + self.values)
                self.expect(self.job, ["x.npy"])
                self.job["data"]["residency"] = "memory"
                self.expect(self.job, ["x.npy"])

    def test_missing(self):
        self.job["data"]["source"]["labels"] = "nothing.npy"
        self.expect(self.job, ["nothing.npy"])

    def test_a_folder(self):
        self.job["data"]["source"]["labels"] = "."
        self.expect(self.job, [self.folder])

    def test_counts_that_differ(self):
        write_npy(self.path("y.npy"), (EXAMPLES - 1,), "<f4",
                  bytes(4 * (EXAMPLES - 1)))
        self.expect(self.job, ["y.npy", str(EXAMPLES), str(EXAMPLES - 1)])

    def test_features_of_another_shape(self):
        self.job["model"]["input"] = [FEATURES + 1]
        self.expect(self.job, ["x.npy", str(FEATURES), str(FEATURES + 1)])

    def test_labels_of_another_shape(self):
        write_npy(self.path("y.npy"), (EXAMPLES, 3), "<f4",
                  bytes(4 * 3 * EXAMPLES))
        self.expect(self.job, ["3"])

    def test_classes_that_are_not_there(self):
        # Known only once they are read: the first bad one ends the training.
        self.job["model"]["layers"][-1]["units"] = 4
        self.job["model"]["layers"][-1]["activation"] = "softmax"
        self.job["train"]["loss"] = "sparse_categorical_crossentropy"
        for label in (4, -1, 1 << 40):
            write_npy(self.path("y.npy"), (EXAMPLES,), "<i8",
                      struct.pack("<q", label) * EXAMPLES)
            ran = self.plimsoll("train", self.write_job(self.job), "--quiet",
                                "--run-dir", self.path("run"))
            self.assertIn(ran.code, (1, 2), ran.err)
            self.assertIn("y.npy", ran.err)
            self.assertIn("class", ran.err)

    def test_an_empty_set(self):
        write_npy(self.path("x.npy"), (0, FEATURES), "<f4", b"")
        write_npy(self.path("y.npy"), (0,), "<f4", b"")
        self.expect(self.job, ["x.npy"])


class BadBudgets(JobTest):
    def test_by_flag_environment_and_job_file(self):
        job = small_job()
        path = self.write_job(job)
        for size in ("12", "-1GiB", "1XiB", "0%", "0B", "GiB", "1e3MiB",
                     "99999999999TiB", "101%", "nan%"):
            for command in ("plan", "train"):
                with self.subTest(size, command=command):
                    self.refused(size, "--host-memory", command, path,
                                 f"--host-memory={size}")
                    self.refused(size, "PLIMSOLL_HOST_MEMORY", command, path,
                                 env={"PLIMSOLL_HOST_MEMORY": size})
                    self.refused(
                        size, "memory.host", command,
                        self.write_job(job | {"memory": {"host": size}},
                                       "limited.toml"))

    def refused(self, size, place, *arguments, env=None):
        ran = self.plimsoll(*arguments, env=env)
        self.assertEqual(ran.code, 2, ran.err)
        self.assertIn(size, ran.err)
        self.assertIn(place, ran.err)


class AbsurdSizes(BadInput):
    """An error that names the key, or a refusal with the bytes it needs."""

    def expect_refusal(self, job, key, *arguments):
        ran = self.expect(job, [], (2, 3), arguments)
        self.assertIn(key if ran.code == 2 else "job needs", ran.err)

    def test_units(self):
        for units in (10**9, 10**15, 1 << 62):
            job = small_job()
            job["model"]["layers"][0]["units"] = units
            self.expect_refusal(job, "model.layers[0].units")

    def test_batch(self):
        for batch in (1 << 31, 1 << 60, (1 << 63) - 1):
            self.expect_refusal(small_job(), "train.batch", "--batch", batch)

    def test_examples_in_memory(self):
        for examples in (10**12, 1 << 62):
            job = small_job(examples)
            job["data"]["residency"] = "memory"
            self.expect_refusal(job, "data.source.examples")

    def test_features(self):
        for shape in ([1 << 40], [1 << 20, 1 << 20, 1 << 20], [1 << 62]):
            job = small_job()
            job["model"]["input"] = shape
            job["data"]["source"]["features"] = shape
            job["model"]["layers"].insert(0, {"type": "flatten"})
            self.expect_refusal(job, "model.input")

    def test_many_batches_ready(self):
        job = small_job()
        job["data"]["pipeline"][-1]["batches"] = 10**9
        self.expect_refusal(job, "data.pipeline[2].batches")

    def test_a_product_that_would_overflow(self):
        job = small_job(1 << 40)
        job["data"]["residency"] = "memory"
        job["model"]["layers"][0]["units"] = 2**31 - 1
        self.expect_refusal(job, "dense_1", "--batch", 2**31 - 1)


if __name__ == "__main__":
    main()
