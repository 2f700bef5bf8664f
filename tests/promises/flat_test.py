"""Nothing grows: the same bytes at the last epoch as at the second."""
import os
import signal
import subprocess
import time

from harness import (EXAMPLES, GIB, MIB, PROGRAM, JobTest, clean_environment,
                     main, measures_memory, random_source, small_job)

MLP1000 = os.path.join(EXAMPLES, "jobs/mlp1000.toml")
VALIDATION = ("--set", 'data.validation={type="random", examples=10007, '
              'features=[1000], labels={type="binary"}}')


@measures_memory
class Flat(JobTest):
    def check(self, budget, trained, epochs):
        measured = trained.summary["measured"]
        anonymous = measured["rss_by_epoch"]
        print(f"peak {trained.watched['peak_bytes'] / MIB:.2f} MiB of "
              f"{budget}, anonymous bytes by epoch {anonymous}")
        self.assertEqual(len(anonymous), epochs)
        for later in anonymous[2:]:
            self.assertLessEqual(later - anonymous[1], 0)
        self.assertEqual(measured["allocations_after_first_step"], 0)
        self.assertEqual(measured["host_ledger_peak"],
                         trained.summary["forecast"]["host_ledger_peak"])
        self.assertLessEqual(trained.watched["peak_bytes"], budget * MIB)

    def test_mlp1000_over_a_million_examples(self):
        trained = self.train(MLP1000, "--host-memory", "128MiB", "--epochs",
                             3, *VALIDATION)
        self.check(128, trained, 3)
        self.assertEqual(trained.summary["steps"], 3 * 31250)
        self.assertEqual(len(trained.summary["metrics"]["val_loss"]), 3)

    def test_a_hundred_short_epochs(self):
        job = small_job(100, 50)
        job["data"]["validation"] = random_source(45, [50])
        job["train"] |= {"epochs": 100, "metrics": ["accuracy"]}
        self.check(64, self.train(self.write_job(job), "--host-memory",
                                  "64MiB"), 100)

    def test_epochs_that_never_come_cost_nothing(self):
        path = self.write_job(small_job(32))
        log = self.path("run/log.jsonl")
        with subprocess.Popen(
                [PROGRAM, "train", path, "--epochs", str(2**31 - 1),
                 "--run-dir", self.path("run"), "--quiet"],
                env=clean_environment(), stderr=subprocess.DEVNULL) as child:
            while child.poll() is None and not (
                    os.path.exists(log) and os.path.getsize(log)):
                time.sleep(0.002)
            with open(f"/proc/{child.pid}/status", encoding="ascii") as file:
                size, = [int(line.split()[1]) * 1024 for line in file
                         if line.startswith("VmPeak:")]
            child.send_signal(signal.SIGTERM)
        self.assertEqual(child.returncode, 75)
        # Addresses, not memory; records of 2^31 epochs would be 16 GiB each.
        self.assertLess(size, 2 * GIB)


if __name__ == "__main__":
    main()
