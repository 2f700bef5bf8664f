"""The line holds, seen from outside, and the smallest budget is sharp."""
import json
import math
import os
import random
import struct

from harness import (EXAMPLES, MIB, JobTest, dense, main, measures_memory,
                     random_source, small_job, stages, write_npy)


@measures_memory
class SmallestBudget(JobTest):
    """Bisected budget M trains inside M; M - 1 MiB is refused."""

    def smallest(self, *job):
        """In MiB, by the exit codes of `plan` alone."""
        refused, fits = 0, 1
        while self.plan(*job, "--host-memory", f"{fits}MiB")[0] != 0:
            refused, fits = fits, fits * 2
        while fits - refused > 1:
            middle = (refused + fits) // 2
            if self.plan(*job, "--host-memory", f"{middle}MiB")[0] == 0:
                fits = middle
            else:
                refused = middle
        return fits

    def check(self, *job):
        least = self.smallest(*job)
        _, plan = self.plan(*job, "--host-memory", f"{least}MiB")
        self.assertEqual(least, math.ceil(plan["host"]["peak"] / MIB))
        for budget in (least, least * 3 // 2, least * 4):
            trained = self.train(*job, "--host-memory", f"{budget}MiB")
            peak = trained.watched["peak_bytes"]
            print(f"budget {budget} MiB, peak {peak / MIB:.2f} MiB, forecast "
                  f"{trained.summary['forecast']['host_peak'] / MIB:.2f} MiB")
            self.assertLessEqual(peak, budget * MIB)
            self.assertEqual(trained.watched["peak_processes"], 1)
        below = ("--host-memory", f"{least - 1}MiB")
        self.assertEqual(self.plan(*job, *below)[0], 3)
        self.train(*job, *below, code=3)

    def test_mlp1000(self):
        self.check(os.path.join(EXAMPLES, "jobs/mlp1000.toml"), "--set",
                   "data.source.examples=20000")

    def test_linear100(self):
        self.check(os.path.join(EXAMPLES, "jobs/linear100.toml"), "--set",
                   "data.source.examples=50000")

    def test_wide_layers_with_dropout(self):
        job = small_job(1000, 2000)
        job["model"]["layers"] = [dense(3000, "relu"),
                                  {"type": "dropout", "rate": 0.5},
                                  dense(1, "sigmoid")]
        job["train"]["batch"] = 250
        self.check(self.write_job(job))

    def test_npy_stream_cast_from_f64(self):
        examples, features = 3000, 200
        values = struct.pack(f"<{features}d", *range(features)) * examples
        write_npy(self.path("x.npy"), (examples, features), "<f8", values)
        write_npy(self.path("y.npy"), (examples,), "|u1",
                  bytes(i % 2 for i in range(examples)))
        job = small_job(features=features)
        job["data"]["source"] = {"type": "npy", "features": "x.npy",
                                 "labels": "y.npy"}
        self.check(self.write_job(job))

    def test_npy_in_memory(self):
        examples, features = 20000, 500
        line = random.Random(1).randbytes(features * 2)
        write_npy(self.path("x.npy"), (examples, features), "<i2",
                  line * examples)
        write_npy(self.path("y.npy"), (examples, 1), "<f4",
                  struct.pack("<f", 0.5) * examples)
        job = small_job(features=features)
        job["data"]["source"] = {"type": "npy", "features": "x.npy",
                                 "labels": "y.npy"}
        job["data"]["residency"] = "memory"
        job["train"] |= {"batch": 500, "loss": "mean_squared_error"}
        self.check(self.write_job(job))

    def test_random_in_memory_with_validation(self):
        job = small_job(30000, 300)
        job["data"]["residency"] = "memory"
        job["data"]["validation"] = random_source(7001, [300])
        job["data"]["pipeline"] = stages("batch")
        job["train"] |= {"batch": 512, "epochs": 2}
        self.check(self.write_job(job))

    def test_f64_with_a_large_ring(self):
        job = small_job(20000, 400)
        job["data"]["pipeline"] = stages("shuffle", "batch", "prefetch",
                                         batches=6)
        job["train"] |= {"batch": 1000, "precision": "f64"}
        self.check(self.write_job(job))

    def test_a_deep_graph_over_small_tensors(self):
        job = small_job(500, 16)
        job["model"]["layers"] = [dense(16, "relu") for _ in range(60)] + [
            dense(1, "sigmoid")]
        self.check(self.write_job(job))

    def test_far_deeper_ones(self):
        """They are at their peak while they are planned. One program: a full
        batch and no validation."""
        job = small_job(64, 4)
        job["train"]["batch"] = 16
        job["model"]["layers"] = [dense(4, "relu") for _ in range(600)] + [
            dense(1, "sigmoid")]
        self.train_at_its_forecast(job)
        job = small_job(64)
        job["train"]["batch"] = 16
        job["model"] = {"input": [6, 8], "layers": []}
        job["data"]["source"] = random_source(64, [6, 8])
        for i in range(80):
            skip = f"add_{i - 1}" if i > 0 else "input"
            job["model"]["layers"] += [
                {"type": "layer_normalization", "name": f"norm_{i}",
                 "inputs": skip},
                {"type": "multi_head_attention", "num_heads": 2, "key_dim": 4,
                 "name": f"attention_{i}"},
                {"type": "add", "name": f"add_{i}",
                 "inputs": [f"attention_{i}", skip]}]
        job["model"]["layers"] += [{"type": "flatten"}, dense(1, "sigmoid")]
        self.train_at_its_forecast(job)

    def train_at_its_forecast(self, job):
        path = self.write_job(job)
        peak = self.plan(path)[1]["host"]["peak"]
        trained = self.train(path, "--host-memory", f"{peak}B")
        self.assertLessEqual(
            trained.summary["measured"]["host_rss_peak"], peak)

    def check_networks(self, *options):
        """Convolutions bring code of their library into memory; a sequence
        has products and loops of every kind."""
        images = small_job(640)
        images["model"] = {"input": [32, 32, 3], "layers": [
            {"type": "conv2d", "filters": 16, "kernel_size": 3,
             "padding": "same"},
            {"type": "batch_normalization"},
            {"type": "conv2d", "filters": 16, "kernel_size": 3, "strides": 2,
             "activation": "relu"},
            {"type": "max_pooling2d"},
            {"type": "global_average_pooling2d"},
            dense(1, "sigmoid")]}
        images["data"]["source"] = random_source(640, [32, 32, 3])
        self.check(self.write_job(images), *options)
        sequences = small_job(640)
        sequences["model"] = {"input": [32, 24], "layers": [
            dense(64, "gelu"),
            {"type": "multi_head_attention", "num_heads": 4, "key_dim": 16,
             "causal": True},
            {"type": "layer_normalization"},
            {"type": "lstm", "units": 32},
            dense(1, "sigmoid")]}
        sequences["data"]["source"] = random_source(640, [32, 24])
        self.check(self.write_job(sequences), *options)

    def test_networks(self):
        self.check_networks()

    def test_networks_in_bf16(self):
        self.check_networks("--precision", "bf16")

    def test_a_convolution_that_no_library_makes(self):
        """Its code is in memory all the same if it was asked, so not in f64."""
        job = small_job(2)
        job["model"] = {"input": [10, 21, 7], "layers": [
            {"type": "max_pooling2d", "pool_size": 1, "strides": 3,
             "padding": "same"},
            {"type": "conv2d_transpose", "name": "a", "filters": 1,
             "kernel_size": 2, "strides": 3, "padding": "same"},
            {"type": "conv2d", "filters": 1, "kernel_size": 3,
             "padding": "same", "use_bias": False},
            {"type": "batch_normalization", "name": "b"},
            {"type": "maximum", "inputs": ["b", "a"]}, dense(10)]}
        job["data"]["source"] = random_source(
            2, [10, 21, 7],
            {"type": "classes", "count": 10, "shape": [12, 21]})
        job["data"]["validation"] = job["data"]["source"]
        job["train"] |= {"batch": 2, "epochs": 2, "precision": "bf16",
                         "accumulation_steps": 3,
                         "loss": "sparse_categorical_crossentropy"}
        path = self.write_job(job)
        self.check(path)
        self.check(path, "--precision", "f64")
        runtime = [self.plan(path, "--precision", precision)[1]["host"]
                   ["accounts"]["runtime"] for precision in ("bf16", "f64")]
        self.assertGreater(runtime[0], runtime[1] + MIB)

    def test_many_layers_and_classes(self):
        job = small_job(2100, 256)
        names = ["relu", "gelu", "tanh", "sigmoid", "leaky_relu"]
        job["model"]["layers"] = [dense(256 - 8 * i, names[i % 5])
                                  for i in range(12)] + [dense(10, "softmax")]
        job["data"]["source"] = random_source(
            2100, [256], {"type": "classes", "count": 10})
        job["data"]["validation"] = random_source(
            700, [256], {"type": "classes", "count": 10})
        job["train"] |= {"batch": 1024, "metrics": ["accuracy"],
                         "loss": "sparse_categorical_crossentropy",
                         "optimizer": {"type": "adamw"}}
        self.check(self.write_job(job))


@measures_memory
class FirstCommand(JobTest):
    def test_calibrates_once_and_inside_the_line(self):
        job = os.path.join(EXAMPLES, "jobs/mlp1000.toml")
        short = ("--set", "data.source.examples=20000")
        cold = {"XDG_CACHE_HOME": self.path("cache")}
        first = self.train(job, *short, env=cold)
        self.assertGreater(first.watched["peak_processes"], 1)
        self.assertLessEqual(first.watched["peak_bytes"], 128 * MIB)
        self.assertEqual(len(os.listdir(self.path("cache/plimsoll"))), 1)
        second = self.train(job, *short, env=cold)
        self.assertEqual(second.watched["peak_processes"], 1)
        self.assertEqual(first.summary["forecast"],
                         second.summary["forecast"])

    def test_a_process_that_holds_more_than_forecast_is_refused(self):
        """As where the system has more of its files in memory than then."""
        job = self.write_job(small_job())
        cold = {"XDG_CACHE_HOME": self.path("cache")}
        self.plan(job, env=cold)  # calibrates
        held = self.train(job, env=cold).summary
        peak = held["measured"]["host_rss_peak"]
        # So that what is forecast is 4 MiB less than what it holds.
        less = held["forecast"]["host_peak"] - peak + 4 * MIB
        folder = self.path("cache/plimsoll")
        profile = os.path.join(folder, os.listdir(folder)[0])

        def understate():
            with open(profile, encoding="utf-8") as file:
                kept = json.load(file)
            kept["runtime_floor_bytes"] -= less
            kept["planning_floor_bytes"] -= less
            with open(profile, "w", encoding="utf-8") as file:
                json.dump(kept, file)

        budget = f"{peak - 2 * MIB}B"
        understate()
        said = self.plan(job, "--host-memory", budget, env=cold)
        self.assertEqual(said[0], 0, "it fits, by the figure of then")
        refused = self.plimsoll("train", job, "--host-memory", budget,
                                "--run-dir", self.path("run"), env=cold)
        self.assertEqual(refused.code, 3, refused.err)
        self.assertIn("more than was forecast", refused.err)
        self.assertFalse(os.path.exists(self.path("run")))
        self.assertEqual(
            self.plan(job, "--host-memory", budget, env=cold)[0], 3)

        understate()
        trained = self.train(job, env=cold)
        self.assertIn("more than was forecast", trained.ran.err)
        self.assertEqual(os.listdir(folder), [])
        self.assertNotIn("forecast", self.train(job, env=cold).ran.err)

    def test_works_without_a_cache_to_write_to(self):
        job = self.write_job(small_job())
        nowhere = {"XDG_CACHE_HOME": "/proc/nowhere"}
        self.train(job, env=nowhere)


if __name__ == "__main__":
    main()
