"""The forecast is exact for the pools and close for the whole process."""
import statistics

from harness import (GIB, MIB, JobTest, available_bytes, dense, main,
                     measures_memory, random_source, small_job, stages,
                     write_npy)

# Room for the page cache of what the program and the tests themselves read.
MARGIN = GIB


def shaped(features, layers, batch, examples=None, **train):
    """Two steps, unless more examples are asked for."""
    job = small_job(examples or 2 * batch, features)
    job["model"]["layers"] = layers
    job["train"] |= {"batch": batch, **train}
    return job


def in_memory(job, pipeline=("batch",)):
    job["data"]["residency"] = "memory"
    job["data"]["pipeline"] = stages(*pipeline)
    return job


def with_classes(job, count, examples, features):
    labels = {"type": "classes", "count": count}
    job["data"]["source"] = random_source(examples, [features], labels)
    job["train"]["loss"] = "sparse_categorical_crossentropy"
    job["train"]["metrics"] = ["accuracy"]
    return job


def with_validation(job, examples, features):
    job["data"]["validation"] = random_source(examples, [features])
    return job


def head(*hidden):
    return [*hidden, dense(1, "sigmoid")]


DROPOUT = {"type": "dropout", "rate": 0.3}
SGD = {"type": "sgd", "learning_rate": 0.01}
MOMENTUM = {"type": "sgd", "learning_rate": 0.01, "momentum": 0.9}
ADAMW = {"type": "adamw"}

# From about 100 MiB to 8 GiB. The larger ones get their size from batches and
# data: parameters would have to be written out as a checkpoint.
JOBS = {
    "wide, adam": shaped(1000, head(dense(4900, "relu")), 64),
    "batch 10,000": shaped(1000, head(dense(128, "relu")), 10000),
    "data in memory": in_memory(
        shaped(500, head(dense(32, "tanh")), 256, 60000)),
    "wide, sgd": shaped(2000, head(dense(9000, "gelu")), 32, optimizer=SGD),
    "deep, dropout": shaped(
        400, head(*[dense(400, "relu"), DROPOUT] * 4), 12000,
        optimizer=MOMENTUM),
    "classes, adamw": with_classes(
        shaped(600, [dense(800, "relu"), dense(1000, "softmax")], 16000,
               optimizer=ADAMW), 1000, 32000, 600),
    "f64 batch": shaped(700, head(dense(300, "sigmoid")), 18000,
                        precision="f64"),
    "bf16 batch": shaped(700, head(dense(900, "gelu"), dense(900, "relu")),
                         18000, precision="bf16"),
    "f16, deep": shaped(400, head(*[dense(400, "relu"), DROPOUT] * 4), 12000,
                        optimizer=MOMENTUM, precision="f16"),
    "memory, shuffled": in_memory(
        shaped(300, head(dense(64, "relu")), 2048, 250000),
        ("shuffle", "batch", "prefetch")),
    "validation": with_validation(
        shaped(1500, head(dense(200, "relu")), 24000), 30000, 1500),
    "wide, momentum": shaped(3000, head(dense(12000, "relu")), 1024,
                             optimizer=MOMENTUM),
    "tail only": shaped(1000, head(dense(600, "tanh"), dense(600, "tanh")),
                        65000, 60000),
    "f64 in memory": in_memory(
        shaped(400, head(dense(64, "relu")), 4096, 400000, precision="f64")),
    "batch 90,000": shaped(1200, head(dense(128, "relu")), 90000),
    "elementwise": shaped(
        2000, head(*[{"type": "activation", "activation": name}
                     for name in ("gelu", "tanh", "sigmoid")]), 60000,
        optimizer=SGD),
    "both in memory": with_validation(in_memory(
        shaped(600, head(dense(16, "relu")), 1000, 700000)), 200000, 600),
    "deep, wide batch": shaped(
        200, head(*[dense(200, "relu")] * 8), 250000, 250000,
        optimizer=SGD),
    "4 GiB in memory": in_memory(
        shaped(1000, head(dense(8, "relu")), 8192, 1000000)),
    "batch 500,000": shaped(1000, head(dense(32, "relu")), 500000, 500000),
    "8 GiB in memory": in_memory(
        shaped(2000, head(dense(4, "tanh")), 4000, 1050000)),
}


@measures_memory
class ProcessForecast(JobTest):
    def setUp(self):
        super().setUp()
        rows, width = 300000, 800
        self.jobs = dict(JOBS)
        job = in_memory(shaped(width, head(dense(32, "relu")), 1000))
        job["data"]["source"] = {"type": "npy", "features": "x.npy",
                                 "labels": "y.npy"}
        self.jobs["bytes of a file"] = job
        write_npy(self.path("x.npy"), (rows, width), "|i1",
                  bytes(range(200)) * (rows * width // 200))
        write_npy(self.path("y.npy"), (rows,), "|b1", b"\x00\x01" *
                  (rows // 2))

    def measure(self, name, job):
        """Forecast and measured peak, or None where the machine is small."""
        path = self.write_job(job)
        _, plan = self.plan(path)
        if plan["host"]["peak"] > available_bytes() - MARGIN:
            print(f"{name:18} {plan['host']['peak'] / MIB:9.1f} MiB: left "
                  "out, the machine has less")
            return None
        trained = self.train(path)
        forecast, measured = (trained.summary["forecast"],
                              trained.summary["measured"])
        self.assertEqual(forecast["host_peak"], plan["host"]["peak"])
        self.assertEqual(forecast["host_ledger_peak"],
                         measured["host_ledger_peak"])
        self.assertEqual(forecast["arena_height"], measured["arena_height"])
        self.assertEqual(measured["allocations_after_first_step"], 0)
        # Two observers of one peak: neither sees more than the forecast.
        peak = max(trained.watched["peak_bytes"], measured["host_rss_peak"])
        return forecast["host_peak"], peak

    def test_holds_over_twenty_two_jobs(self):
        self.assertEqual(len(self.jobs), 22)
        print("\n                    forecast    measured   difference, MiB")
        rows = []
        for name, job in self.jobs.items():
            with self.subTest(name):
                row = self.measure(name, job)
                if row is None:
                    continue
                rows.append(row)
                forecast, peak = row
                print(f"{name:18} {forecast / MIB:9.1f} {peak / MIB:11.1f} "
                      f"{(forecast - peak) / MIB:12.2f}", flush=True)
                self.assertLessEqual(peak, forecast)
                self.assertLessEqual(forecast, 1.05 * peak + 32 * MIB)
        median = statistics.median(forecast - peak for forecast, peak in rows)
        print(f"median of the differences: {median / MIB:.2f} MiB")
        self.assertLessEqual(median, 8 * MIB)
        self.assertLessEqual(min(rows)[0], 110 * MIB)
        if len(rows) == 22:
            self.assertGreaterEqual(max(rows)[0], 7.5 * GIB)
        elif len(rows) < 12:
            self.skipTest(f"only {len(rows)} jobs fit on this machine")


if __name__ == "__main__":
    main()
