"""A run and its directory: stopped, killed, resumed, failed; nothing that
was trained is lost, and nothing is mistaken for another run's."""
import json
import os
import signal
import struct
import subprocess
import time

from harness import (PROGRAM, JobTest, clean_environment, dense, main,
                     random_source, read_json, small_job, write_npy)
from same_result_test import tensors_of

LONG = ("--epochs", "1000000")


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


class RunTest(JobTest):
    def setUp(self):
        super().setUp()
        self.run_dir = self.path("run")
        self.log = self.path("run/log.jsonl")
        self.last = self.path("run/checkpoints/last.safetensors")
        self.job = small_job()

    def start(self, *arguments, **how):
        """`train` in the run directory, in the background."""
        how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | how
        return subprocess.Popen(
            [PROGRAM, "train", self.write_job(self.job), "--run-dir",
             self.run_dir, *arguments], cwd=self.folder,
            env=clean_environment(), **how)

    def run_job(self, *arguments, code=0):
        ran = self.plimsoll("train", self.write_job(self.job), "--run-dir",
                            self.run_dir, "--quiet", *arguments)
        self.assertEqual(ran.code, code, ran.err)
        return ran

    def wait_for(self, ready, child):
        deadline = time.monotonic() + 30
        while not ready() and child.poll() is None:
            self.assertLess(time.monotonic(), deadline, "waited in vain")
            time.sleep(0.002)

    def stop(self, stop_with, *arguments, ready=None):
        """Stops once `ready`, by default after an epoch."""
        before = read_bytes(self.log)
        with self.start(*arguments) as child:
            self.wait_for(
                ready or (lambda: read_bytes(self.log) not in (b"", before)),
                child)
            child.send_signal(stop_with)
            error = child.stderr.read().decode()
        return child.returncode, error

    def summary(self):
        return read_json(self.path("run/summary.json"))

    def log_lines(self):
        return [json.loads(line) for line in
                read_bytes(self.log).decode().splitlines()]

    def files(self):
        return [read_bytes(self.path(f"run/{name}")) for name in (
            "plan.json", "log.jsonl", "summary.json",
            "checkpoints/last.safetensors")]

    def weights(self):
        return {name: tensor for name, tensor in
                tensors_of(read_bytes(self.last)).items()
                if "kernel" in name or "bias" in name}


class UsedDirectory(RunTest):
    def test_halves_resume_with_the_same_bits(self):
        self.job["model"]["layers"].insert(
            1, {"type": "batch_normalization", "precision": "f32"})
        for precision in ("bf16", "f16"):
            parts = []
            for folder, epochs, more in (("whole", 4, ()), ("parts", 2, ()),
                                         ("parts", 4, ("--resume",))):
                self.run_dir = self.path(f"{precision}-{folder}")
                self.run_job("--precision", precision, "--epochs", epochs,
                             *more)
                parts.append(tensors_of(read_bytes(os.path.join(
                    self.run_dir, "checkpoints/last.safetensors"))))
            self.assertEqual(parts[0], parts[2])
            self.assertNotEqual(parts[0], parts[1])
            self.assertEqual("loss_scale" in parts[0], precision == "f16")
            self.assertEqual(parts[0]["dense_1/kernel"][0], "F32")

    def test_states_and_schedules_of_optimizers_resume(self):
        rate = {"type": "cosine_decay", "initial_learning_rate": 0.0,
                "decay_steps": 200, "warmup_target": 0.01, "warmup_steps": 20}
        for optimizer, state in (
                ({"type": "rmsprop", "momentum": 0.9, "centered": True,
                  "learning_rate": rate}, "average_gradient"),
                ({"type": "adagrad", "global_clipnorm": 0.1}, "accumulator"),
                ({"type": "lamb", "learning_rate": rate}, "second_moment"),
                ({"type": "adafactor", "clipnorm": 0.1},
                 "row_second_moment")):
            self.job["train"]["optimizer"] = optimizer
            parts = []
            for folder, epochs, more in (("whole", 4, ()), ("parts", 2, ()),
                                         ("parts", 4, ("--resume",))):
                self.run_dir = self.path(f"{optimizer['type']}-{folder}")
                self.run_job("--epochs", epochs, *more)
                parts.append(tensors_of(read_bytes(os.path.join(
                    self.run_dir, "checkpoints/last.safetensors"))))
            self.assertEqual(parts[0], parts[2])
            self.assertNotEqual(parts[0], parts[1])
            self.assertIn(f"dense_1/kernel/{state}", parts[0])

    def test_a_killed_run_does_not_resume_from_an_earlier_one(self):
        self.run_job()
        fresh = self.weights()
        self.run_job("--epochs", 3)
        # In its first epoch: before it has a checkpoint of its own. The
        # earlier run's summary is the last of its files to go.
        self.stop(signal.SIGKILL, "--set", "data.source.examples=100000000",
                  ready=lambda: self.summary() == {})
        self.assertFalse(os.path.exists(self.last))
        self.assertEqual(self.summary(), {})
        self.run_job("--resume")
        self.assertEqual(self.weights(), fresh)
        self.assertEqual(len(self.summary()["loss_by_epoch"]), 1)

    def test_another_job_cannot_go_on_and_touches_nothing(self):
        self.run_job()
        before = self.files()
        for key, arguments, value in (
                ("train.batch", ("--batch", "16"), "32"),
                ("train.seed", ("--seed", "5"), "1"),
                ("data.source.examples",
                 ("--set", "data.source.examples=641"), "640"),
                ("train.loss", ("--set", "train.loss=mean_squared_error"),
                 "binary_crossentropy"),
                ("train.optimizer.type",
                 ("--set", 'train.optimizer={type="sgd"}'), "adam"),
                ("train.precision", ("--set", "train.precision=f64"),
                 "f32")):
            with self.subTest(key):
                ran = self.run_job("--resume", "--epochs", 2, *arguments,
                                   code=2)
                for part in (key, value, arguments[1].split("=")[-1]):
                    self.assertIn(part.strip('"}'), ran.err)
                self.assertEqual(self.files(), before)

    def test_a_changed_learning_rate_takes_effect(self):
        self.job["train"]["optimizer"] = {"type": "sgd",
                                          "learning_rate": 0.1}
        self.run_job()
        before = self.weights()
        self.job["train"]["optimizer"]["learning_rate"] = 1e-30
        self.run_job("--resume", "--epochs", 2)
        self.assertEqual(self.weights(), before)

    def test_a_finished_run_is_left_alone(self):
        self.run_job()
        before = self.files()
        self.run_job("--resume")
        self.assertEqual(self.files(), before)


class Stopped(RunTest):
    def check(self, stop_with):
        code, error = self.stop(stop_with, *LONG)
        self.assertEqual(code, 75, error)
        self.assertIn("--resume", error)
        reached = self.summary()
        epochs = len(reached["loss_by_epoch"])
        self.assertTrue(reached["stopped"])
        self.run_job("--resume", "--epochs", epochs + 2)
        resumed = self.summary()
        self.assertEqual(resumed["loss_by_epoch"][:epochs],
                         reached["loss_by_epoch"])
        self.assertEqual(len(resumed["loss_by_epoch"]), epochs + 2)
        self.assertEqual(len(resumed["measured"]["rss_by_epoch"]),
                         epochs + 2)

    def test_by_sigint(self):
        self.check(signal.SIGINT)

    def test_by_sighup(self):
        self.check(signal.SIGHUP)

    def test_in_the_first_epoch_it_says_what_it_reached(self):
        self.job["data"]["source"]["examples"] = 1 << 40
        plan = self.path("run/plan.json")
        code, error = self.stop(
            signal.SIGTERM, ready=lambda: os.path.exists(plan)
            and time.time() - os.stat(plan).st_mtime > 0.05)
        self.assertEqual(code, 75, error)
        line = self.log_lines()[-1]
        self.assertTrue(line["stopped"])
        self.assertGreater(line["step"], 0)
        for key in ("loss", "host_bytes", "examples_per_second"):
            self.assertGreater(line[key], 0, key)
        summary = self.summary()
        self.assertAlmostEqual(line["examples_per_second"],
                               summary["examples_per_second"])
        # The clock stands still before the first step's end and no longer.
        self.assertGreater(line["step"] * 32 * 1.5,
                           line["examples_per_second"] * line["seconds"])

    def test_while_it_evaluates(self):
        self.job["data"]["validation"] = random_source(4000000, [16])
        self.job["train"] |= {"metrics": ["accuracy"], "epochs": 2}
        self.run_job()
        whole, weights = self.summary(), self.weights()
        log = read_bytes(self.log)
        plan = self.path("run/plan.json")
        planned = os.stat(plan).st_mtime_ns
        # 20 steps of training are long over by then.
        code, error = self.stop(
            signal.SIGTERM, ready=lambda: read_bytes(self.log) != log
            and os.stat(plan).st_mtime_ns != planned
            and time.time() - os.stat(plan).st_mtime > 0.1)
        self.assertEqual(code, 75, error)
        self.assertEqual(self.summary()["steps"], 20)
        self.assertEqual(self.summary()["loss_by_epoch"], [])
        self.assertAlmostEqual(self.log_lines()[-1]["loss"],
                               whole["loss_by_epoch"][0])
        self.run_job("--resume")
        for key in ("steps", "loss_by_epoch", "metrics"):
            self.assertEqual(self.summary()[key], whole[key], key)
        self.assertEqual(self.weights(), weights)


class Output(RunTest):
    def test_a_reader_that_goes_away_does_not_end_a_training(self):
        with self.start("--epochs", "200", stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            child.stdout.close()
            error = child.stderr.read().decode()
        self.assertEqual(child.returncode, 0, error)
        self.assertEqual(len(self.summary()["loss_by_epoch"]), 200)

    def test_lost_output_is_a_failure(self):
        path = self.write_job(self.job)
        with open("/dev/full", "w", encoding="ascii") as full:
            for command in (["plan", path], ["plan", path, "--json"],
                            ["plan", path, "--sweep", "batch=1:4"],
                            ["train", path], ["devices"], ["--help"]):
                done = subprocess.run(
                    [PROGRAM, *command], stdout=full, check=False,
                    stderr=subprocess.PIPE, cwd=self.folder,
                    env=clean_environment())
                self.assertEqual(done.returncode, 1, command)
                self.assertIn(b"standard output", done.stderr)


class Failed(RunTest):
    def test_a_full_disk_leaves_a_summary(self):
        os.mkdir(self.run_dir)
        os.symlink("/dev/full", self.log)
        ran = self.run_job("--epochs", 3, code=1)
        self.assertIn("log.jsonl", ran.err)
        summary = self.summary()
        self.assertIn("log.jsonl", summary["failed"])
        self.assertEqual(len(summary["loss_by_epoch"]), 1)
        self.assertEqual(summary["steps"], 20)

    def use_classes(self, labels):
        write_npy(self.path("x.npy"), (len(labels), 2), "<f4",
                  bytes(8 * len(labels)))
        write_npy(self.path("y.npy"), (len(labels),), "<i8",
                  struct.pack(f"<{len(labels)}q", *labels))
        self.job["model"] = {"input": [2], "layers": [dense(3)]}
        self.job["data"]["source"] = {
            "type": "npy", "features": self.path("x.npy"),
            "labels": self.path("y.npy")}
        self.job["train"] |= {"batch": 4,
                              "loss": "sparse_categorical_crossentropy"}

    def test_a_class_without_an_output_is_named(self):
        for wrong in (3, -1, 1 << 40):
            for residency in ("stream", "memory"):
                labels = [0, 1, 2, 0, 1, 2, 0, wrong, 1]
                self.use_classes(labels)
                self.job["data"]["residency"] = residency
                ran = self.run_job(code=1)
                for part in ("y.npy", "example 7 ", "3 classes",
                             f"class {wrong},"):
                    self.assertIn(part, ran.err)
                self.assertIn("example 7 ", self.summary()["failed"])
        self.use_classes([0, 1, 2, 0, 1, 2, 0, 2, 1])
        self.run_job()
        self.assertNotIn("failed", self.summary())

    def test_the_scale_of_the_loss_is_in_the_log(self):
        self.run_job("--precision", "f16")
        # Gradients as small as these leave it where it starts.
        self.assertEqual(self.log_lines()[-1]["loss_scale"], 2 ** 15)
        self.run_job("--precision", "bf16")
        self.assertNotIn("loss_scale", self.log_lines()[-1])

    def test_a_loss_that_is_not_finite_is_said_once(self):
        self.job["train"] |= {
            "epochs": 3, "loss": "mean_squared_error",
            "optimizer": {"type": "sgd", "learning_rate": 1e30}}
        self.job["model"]["layers"] = [dense(8), dense(1)]
        ran = self.run_job()
        self.assertEqual(ran.err.count("not finite"), 1, ran.err)
        self.assertIn("learning rate", ran.err)
        notes = [line for line in self.log_lines() if "note" in line]
        self.assertEqual(len(notes), 1)
        self.assertEqual(len(self.log_lines()), 3)


class Names(RunTest):
    def raw(self, *arguments):
        """Without reading what is printed as UTF-8."""
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, check=False,
            cwd=self.folder, env=clean_environment())

    def test_file_names_need_not_be_utf8(self):
        name = os.fsencode(self.folder) + b"/d\xff.npy"
        write_npy(name, (640, 16), "<f8", bytes(640 * 16 * 8))
        write_npy(self.path("y.npy"), (640,), "<f4", bytes(640 * 4))
        self.job["data"]["source"] = {"type": "npy", "features": "x.npy",
                                      "labels": self.path("y.npy")}
        path = self.write_job(self.job)
        change = ("--set", b"data.source.features=" + name)
        for command in (("plan", path, "--json"), ("plan", path),
                        ("plan", path, "--json", "--sweep", "batch=1:4"),
                        ("train", path, "--run-dir", self.run_dir)):
            done = self.raw(*command, *change)
            self.assertEqual(done.returncode, 0, done.stderr)
            if "--json" in command:
                json.loads(done.stdout.decode())
        self.assertEqual(self.summary()["steps"], 20)

    def test_layer_names_must_be_utf8(self):
        path = self.write_job(self.job)
        for name in (b"a\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82",
                     b"\xf4\x90\x80\x80"):
            done = self.raw("train", path, "--run-dir", self.run_dir, "--set",
                            b"model.layers.0.name=" + name)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"UTF-8", done.stderr)
            self.assertFalse(os.path.exists(self.run_dir))
        done = self.raw("train", path, "--run-dir", self.run_dir, "--set",
                        "model.layers.0.name=größe→𝄞".encode())
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
