"""Input pipelines inside the line: files and sets far larger than memory."""
import ctypes
import mmap
import os
import signal
import subprocess
import time

from harness import (GIB, MIB, PROGRAM, JobTest, clean_environment, dense,
                     main, measures_memory, npy_header, random_source,
                     read_json, small_job)


def sparse_npy(path, shape, descr, item):
    """Zeros, of any size, that take no room on the disk."""
    header = npy_header(shape, descr)
    count = 1
    for extent in shape:
        count *= extent
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(len(header) + count * item)


def cached_bytes(path):
    """How much of a file is in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = os.path.getsize(path)
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    with open(path, "rb") as file:
        start = ctypes.c_void_p(
            libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ,
                      mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0)))
        failed = libc.mincore(start, ctypes.c_size_t(size), pages)
        libc.munmap(start, ctypes.c_size_t(size))
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE


@measures_memory
class Pipeline(JobTest):
    def check_flat(self, trained):
        measured = trained.summary["measured"]
        anonymous = measured["rss_by_epoch"]
        for later in anonymous[2:]:
            self.assertLessEqual(later - anonymous[1], 0, anonymous)
        self.assertEqual(measured["allocations_after_first_step"], 0)
        self.assertEqual(measured["host_ledger_peak"],
                         trained.summary["forecast"]["host_ledger_peak"])

    def test_a_file_of_four_gib(self):
        rows = 4 * GIB // 4000
        sparse_npy(self.path("x.npy"), (rows, 1000), "<f4", 4)
        sparse_npy(self.path("y.npy"), (rows,), "<f4", 4)
        job = small_job(features=1000)
        job["data"] = {
            "source": {"type": "npy", "features": "x.npy", "labels": "y.npy"},
            "pipeline": [{"stage": "shuffle"},
                         {"stage": "scale", "factor": 0.5},
                         {"stage": "batch"}, {"stage": "prefetch"}]}
        job["train"]["batch"] = 256
        trained = self.train(self.write_job(job), "--host-memory", "160MiB")
        print(f"peak {trained.watched['peak_bytes'] / MIB:.1f} MiB, "
              f"{trained.summary['examples_per_second']:.0f} examples/s")
        self.assertLessEqual(trained.watched["peak_bytes"], 160 * MIB)
        self.assertEqual(trained.summary["steps"], (rows + 255) // 256)
        cached = cached_bytes(self.path("x.npy"))
        print(f"{cached / MIB:.1f} MiB of the file are in the page cache")
        self.assertLess(cached, 4 * GIB // 100)

    def test_twenty_epochs_of_a_billion(self):
        job = small_job(1_000_000_000, 50)
        job["data"]["pipeline"] = [
            {"stage": "shuffle"}, {"stage": "take", "count": 20_000},
            {"stage": "scale", "factor": 2}, {"stage": "batch"},
            {"stage": "prefetch", "batches": 3}]
        job["train"]["epochs"] = 20
        trained = self.train(self.write_job(job), "--host-memory", "160MiB")
        self.assertEqual(trained.summary["steps"], 20 * 625)
        self.assertLessEqual(trained.watched["peak_bytes"], 160 * MIB)
        self.check_flat(trained)

    def check_twenty_epochs(self, source, features, layers, maps):
        job = small_job()
        job["model"] = {"input": features, "layers": layers}
        job["data"] = {
            "source": source,
            "pipeline": [{"stage": "shuffle"}, {"stage": "take", "count": 640},
                         *maps, {"stage": "batch"},
                         {"stage": "prefetch", "batches": 3}]}
        job["train"]["epochs"] = 20
        path = self.write_job(job)
        code, plan = self.plan(path, "--host-memory", "160MiB")
        self.assertEqual(code, 0)
        trained = self.train(path, "--host-memory", "160MiB")
        self.assertEqual(trained.summary["steps"], 20 * 20)
        self.assertLessEqual(trained.watched["peak_bytes"], 160 * MIB)
        self.check_flat(trained)
        return plan["step_seconds"]

    def check_slow_sides(self, source, shape):
        """With a consumer, and then with a producer, that the other waits
        for."""
        layers = [{"type": "flatten"}, dense(1, "sigmoid")]
        time = self.check_twenty_epochs(
            source, shape, [layers[0], dense(2000, "relu"), layers[1]],
            [{"stage": "scale", "factor": 2}])
        self.assertGreater(time["compute"], 2 * time["input"], time)
        sizes = (320, shape[0])
        there_and_back = [{"stage": "resize", "height": n, "width": n}
                          for n in sizes]
        time = self.check_twenty_epochs(source, shape, layers, there_and_back)
        self.assertGreater(time["input"], 2 * time["compute"], time)

    def test_slow_sides_of_a_billion(self):
        self.check_slow_sides(random_source(1_000_000_000, [28, 28]), [28, 28])

    def test_slow_sides_of_a_file_of_four_gib(self):
        rows = 4 * GIB // (28 * 28 * 4)
        sparse_npy(self.path("x.npy"), (rows, 28, 28), "<f4", 4)
        sparse_npy(self.path("y.npy"), (rows,), "<f4", 4)
        self.check_slow_sides({"type": "npy", "features": "x.npy",
                               "labels": "y.npy"}, [28, 28])

    def test_streams_are_flat_too(self):
        with open(self.path("d.csv"), "w", encoding="ascii") as file:
            file.write("a,b,y\n")
            for i in range(20_000):
                file.write(f"{i % 17 / 17},{i % 13 / 13},{i % 2}\n")
        job = small_job(features=2)
        job["data"] = {
            "source": {"type": "csv", "files": "d.csv", "label": "y",
                       "label_type": "f32"},
            "pipeline": [{"stage": "shuffle", "elements": 1000},
                         {"stage": "scale", "factor": 2}, {"stage": "batch"},
                         {"stage": "prefetch"}]}
        job["train"]["epochs"] = 20
        trained = self.train(self.write_job(job), "--host-memory", "64MiB")
        self.assertEqual(trained.summary["steps"], 20 * 625)
        self.check_flat(trained)

    def test_elements_that_grow_fifty_times(self):
        job = small_job()
        job["model"] = {"input": [200, 200],
                        "layers": [{"type": "flatten"}, dense(1, "sigmoid")]}
        job["data"] = {
            "share": "6MiB", "source": random_source(2000, [28, 28]),
            "pipeline": [{"stage": "shuffle"},
                         {"stage": "resize", "height": 200, "width": 200},
                         {"stage": "batch"},
                         {"stage": "prefetch", "batches": 8}]}
        job["train"]["batch"] = 8
        code, plan = self.plan(self.write_job(job), "--host-memory", "64MiB")
        self.assertEqual(code, 0)
        held = plan["host"]["accounts"]
        self.assertLessEqual(held["pipeline"] + held["staging"], 6 * MIB)
        trained = self.train(self.write_job(job), "--host-memory", "64MiB")
        self.assertLessEqual(trained.watched["peak_bytes"], 64 * MIB)
        self.assertEqual(trained.summary["steps"], 250)


class Share(JobTest):
    def image_job(self, **data):
        job = small_job()
        job["model"] = {"input": [64, 64],
                        "layers": [{"type": "flatten"}, dense(1, "sigmoid")]}
        job["data"] = {
            "source": random_source(500, [28, 28]),
            "pipeline": [{"stage": "resize", "height": 64, "width": 64},
                         {"stage": "batch"}, {"stage": "prefetch"}]} | data
        return self.write_job(job)

    def test_one_that_is_too_small_names_the_least_that_works(self):
        ran = self.plimsoll("plan", self.image_job(share="100KiB"))
        self.assertEqual(ran.code, 3)
        self.assertIn("an element takes up to 16.0 KiB", ran.err)
        least = ran.err.split("least share that works is ")[1].split(" B")[0]
        least = int(least.replace(",", ""))
        ran = self.plimsoll("plan", self.image_job(share=f"{least}B"))
        self.assertEqual(ran.code, 0, ran.err)
        ran = self.plimsoll("plan", self.image_job(share=f"{least - 1}B"))
        self.assertEqual(ran.code, 3)

    def test_the_plan_explains_the_input(self):
        code, plan = self.plan(self.image_job())
        self.assertEqual(code, 0)
        pipeline = plan["pipeline"]
        self.assertEqual([stage["stage"] for stage in pipeline["stages"]],
                         ["source", "resize"])
        self.assertEqual(
            pipeline["pipeline_bytes"] + pipeline["staging_bytes"],
            plan["host"]["accounts"]["pipeline"]
            + plan["host"]["accounts"]["staging"])
        text = self.plimsoll("plan", self.image_job()).out
        self.assertIn("resize", text)
        self.assertIn("takes the most", text)


class Streams(JobTest):
    def csv_job(self, rows, **train):
        with open(self.path("d.csv"), "w", encoding="ascii") as file:
            file.write("a,b,y\n")
            for i in range(rows):
                file.write(f"{i % 17 / 17},{i % 13 / 13},{i % 2}\n")
        job = small_job(features=2)
        job["data"] = {
            "source": {"type": "csv", "files": "d.csv", "label": "y",
                       "label_type": "f32"},
            "pipeline": [{"stage": "shuffle", "elements": 300},
                         {"stage": "batch"}, {"stage": "prefetch"}]}
        job["train"] |= train
        return self.write_job(job)

    def test_resumed_in_mid_epoch_they_go_on_where_they_stood(self):
        path = self.csv_job(200_000, epochs=3)
        whole = self.train(path, watched=False)
        run_dir = self.path("stopped")
        with subprocess.Popen(
                [PROGRAM, "train", path, "--run-dir", run_dir, "--quiet"],
                env=clean_environment(), stderr=subprocess.DEVNULL) as child:
            log = os.path.join(run_dir, "log.jsonl")
            while child.poll() is None and not (
                    os.path.exists(log) and os.path.getsize(log)):
                time.sleep(0.001)
            child.send_signal(signal.SIGTERM)
        self.assertEqual(child.returncode, 75)
        ran = self.plimsoll("train", path, "--run-dir", run_dir, "--quiet",
                            "--resume")
        self.assertEqual(ran.code, 0, ran.err)
        resumed = read_json(os.path.join(run_dir, "summary.json"))
        self.assertEqual(resumed["loss_by_epoch"],
                         whole.summary["loss_by_epoch"])

    def test_a_bad_row_is_named_or_skipped(self):
        path = self.csv_job(1000)
        with open(self.path("d.csv"), "a", encoding="ascii") as file:
            file.write("0.5,what,1\n")
            file.write("0.5,0.5,1\n" * 23)
        ran = self.plimsoll("train", path, "--quiet", "--run-dir",
                            self.path("run"))
        self.assertEqual(ran.code, 1)
        self.assertIn("d.csv", ran.err)
        self.assertIn("what", ran.err)
        self.assertIn("1002", ran.err)  # the line
        skipping = ('data.pipeline=[{stage="skip_errors"}, {stage="batch"}, '
                    '{stage="prefetch"}]')
        trained = self.train(path, "--set", skipping, watched=False)
        self.assertEqual(trained.summary["steps"], 1023 // 32)
        self.assertEqual(trained.summary["skipped_elements"], 1)

    def test_joined_sources_train(self):
        """Two CSV files after one another: as many steps as in one."""
        path = self.csv_job(640)
        inner = ('{type="csv", files="d.csv", label="y", '
                 'label_type="f32"%s}')
        ran = self.train(
            path, "--set", 'data.source={type="concatenate", sources=['
            + inner % "" + ", "
            + inner % ', stages=[{stage="take", count=320}]' + "]}",
            watched=False)
        self.assertEqual(ran.summary["steps"], 960 // 32)

    def test_fewer_rows_than_a_batch_are_an_error(self):
        ran = self.plimsoll("train", self.csv_job(20), "--quiet", "--run-dir",
                            self.path("run"))
        self.assertEqual(ran.code, 1)
        self.assertIn("no full batch of 32 examples", ran.err)
        ran = self.plimsoll("plan", self.csv_job(2000))
        self.assertIn("partial batch of an epoch is left out", ran.out)

    def test_unknown_options_are_named(self):
        path = self.csv_job(100)
        ran = self.plimsoll("plan", path, "--set",
                            "data.pipeline.0.windw=3")
        self.assertEqual(ran.code, 2)
        self.assertIn("windw", ran.err)
        ran = self.plimsoll("plan", path, "--set", 'data.source.label="z"')
        self.assertEqual(ran.code, 2)
        self.assertIn("has no column 'z'; it has a, b, y", ran.err)


if __name__ == "__main__":
    main()
