"""Same seed, same losses and weights, bit for bit, at any budget; and the
same again when a run is stopped and resumed."""
import json
import os
import signal
import struct
import subprocess
import time

from harness import (PROGRAM, JobTest, clean_environment, dense, main,
                     random_source, read_json, small_job, stages)


def job_with_everything():
    job = small_job(3000, 200)
    job["model"]["layers"] = [dense(96, "relu"),
                              {"type": "dropout", "rate": 0.3},
                              dense(40, "gelu"), dense(1, "sigmoid")]
    job["data"]["validation"] = random_source(500, [200])
    job["train"] |= {"batch": 64, "epochs": 2, "metrics": ["accuracy"]}
    return job


def tensors_of(checkpoint):
    """Name to (type, shape, bytes); where things lie does not matter."""
    length, = struct.unpack("<Q", checkpoint[:8])
    header = json.loads(checkpoint[8:8 + length])
    header.pop("__metadata__", None)
    body = checkpoint[8 + length:]
    return {name: (entry["dtype"], entry["shape"],
                   body[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


class SameResult(JobTest):
    def result(self, path, *arguments):
        """Everything that training reached, and what its files hold."""
        summary = self.train(path, *arguments, watched=False).summary
        return (summary["loss_by_epoch"], summary["metrics"],
                tensors_of(self.checkpoint()))

    def test_at_three_budgets(self):
        path = self.write_job(job_with_everything())
        _, plan = self.plan(path)
        least = plan["host"]["peak"]
        results = [self.result(path, "--host-memory", f"{budget}B")
                   for budget in (least, least * 3 // 2, least * 10)]
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_however_the_data_is_fed(self):
        job = job_with_everything()
        reference = None
        for residency in ("stream", "memory"):
            for batches in (None, 1, 2, 7):
                names = ["shuffle", "batch"]
                names += ["prefetch"] if batches else []
                job["data"]["residency"] = residency
                job["data"]["pipeline"] = stages(*names, batches=batches)
                result = self.result(self.write_job(job))
                reference = reference or result
                self.assertEqual(result, reference, f"{residency} {batches}")

    def test_another_seed_gives_another_result(self):
        path = self.write_job(job_with_everything())
        first = self.result(path, "--seed", 1)
        self.assertEqual(first, self.result(path, "--seed", 1))
        other = self.result(path, "--seed", 2)
        self.assertNotEqual(first[0], other[0])
        self.assertNotEqual(first[2], other[2])

    def test_a_shuffle_changes_the_order_and_so_the_result(self):
        job = job_with_everything()
        shuffled = self.result(self.write_job(job))
        job["data"]["pipeline"] = stages("batch", "prefetch")
        self.assertNotEqual(shuffled[0], self.result(self.write_job(job))[0])


class Resumed(JobTest):
    def stop(self, path, run_dir, stop_with, delay):
        """Stops so long after the first epoch; gives code and last step."""
        command = ["train", path, "--run-dir", run_dir]
        log = os.path.join(run_dir, "log.jsonl")
        with subprocess.Popen([PROGRAM, *command], cwd=self.folder,
                              env=clean_environment(),
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as child:
            # The first line of the log ends the first epoch.
            while child.poll() is None and not (
                    os.path.exists(log) and os.path.getsize(log)):
                time.sleep(0.002)
            time.sleep(delay)
            child.send_signal(stop_with)
            error = child.stderr.read().decode()
        if child.returncode == 75:
            self.assertIn("--resume", error)
        with open(log, encoding="utf-8") as file:
            return (child.returncode,
                    json.loads(file.read().splitlines()[-1])["step"])

    def stop_in_mid_epoch(self, path, stop_with, whole):
        """When a signal arrives is chance: tries until it is in mid-epoch."""
        epoch_steps = whole["steps"] // 3
        for attempt in range(1, 9):
            run_dir = self.path(f"stopped-{attempt}")
            delay = whole["seconds"] / 3 * attempt / 9
            code, step = self.stop(path, run_dir, stop_with, delay)
            if code == 0:
                continue  # it was done before the signal came
            self.assertEqual(code, 75)
            if step % epoch_steps:
                print(f"stopped after step {step} of {whole['steps']}")
                return run_dir
        return self.fail("no signal arrived in mid-epoch")

    def check(self, stop_with):
        job = job_with_everything()
        job["data"]["source"]["examples"] = 60001
        job["train"] |= {"batch": 32, "epochs": 3}
        path = self.write_job(job)
        whole = self.train(path, watched=False).summary
        run_dir = self.stop_in_mid_epoch(path, stop_with, whole)
        ran = self.plimsoll("train", path, "--run-dir", run_dir, "--resume",
                            "--quiet")
        self.assertEqual(ran.code, 0, ran.err)
        resumed = read_json(os.path.join(run_dir, "summary.json"))
        for key in ("steps", "loss_by_epoch", "metrics"):
            self.assertEqual(resumed[key], whole[key], key)
        path = os.path.join(run_dir, "checkpoints/last.safetensors")
        with open(path, "rb") as file:
            self.assertEqual(tensors_of(file.read()),
                             tensors_of(self.checkpoint()))

    def test_after_sigterm(self):
        self.check(signal.SIGTERM)

    def test_after_sigusr1(self):
        self.check(signal.SIGUSR1)

    def test_a_finished_run_stays_as_it_is(self):
        path = self.write_job(job_with_everything())
        first = self.train(path, watched=False).summary
        ran = self.plimsoll("train", path, "--run-dir", self.path("run-1"),
                            "--resume", "--quiet")
        self.assertEqual(ran.code, 0, ran.err)
        again = read_json(self.path("run-1/summary.json"))
        self.assertEqual(again["loss_by_epoch"], first["loss_by_epoch"])
        self.assertEqual(again["steps"], first["steps"])

    def test_another_model_cannot_go_on_from_it(self):
        job = job_with_everything()
        self.train(self.write_job(job), watched=False)
        before = self.checkpoint()
        job["model"]["layers"][0]["units"] = 95
        ran = self.plimsoll("train", self.write_job(job), "--run-dir",
                            self.path("run-1"), "--resume", "--quiet")
        self.assertEqual(ran.code, 2, ran.err)
        self.assertIn("dense_1/kernel", ran.err)
        self.assertEqual(self.checkpoint(), before)


if __name__ == "__main__":
    main()
