"""The promises on a GPU: both memories forecast, held and given back."""
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading
import time
import unittest

from harness import (EXAMPLES, GIB, MIB, PROGRAM, JobTest, clean_environment,
                     dense, main, random_source, small_job, stages)

DEVICE = ("--device", "cuda:0")
MLP1000 = os.path.join(EXAMPLES, "jobs/mlp1000.toml")
LINEAR100 = os.path.join(EXAMPLES, "jobs/linear100.toml")


def gpus():
    listed = subprocess.run([PROGRAM, "devices", "--json"], check=False,
                            capture_output=True, text=True,
                            env=clean_environment())
    return json.loads(listed.stdout)["cuda"]


CUDA = gpus()
needs_gpu = unittest.skipUnless(
    CUDA["built"] and CUDA["devices"],
    f"needs a GPU: {CUDA['missing'] or 'this build has no CUDA module'}")


def network(features, layers, batch, examples=None, **train):
    job = small_job(examples or 4 * batch, features)
    job["model"]["layers"] = layers
    job["train"] |= {"batch": batch, **train}
    return job


def wide(units, batch, **train):
    return network(units, [dense(units, "relu"), dense(units, "relu"),
                           dense(1, "sigmoid")], batch, **train)


def kernel_file(code):
    """As the cache keeps it: FNV-1a of the code, then the code."""
    hashed = 0xcbf29ce484222325
    for byte in code:
        hashed = (hashed ^ byte) * 0x100000001b3 % (1 << 64)
    return f"{hashed:016x}".encode() + code


def on_a_terminal(*arguments):
    """All that the program wrote to a wide terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, 400, 0, 0))
    with subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=theirs,
                          env=clean_environment()) as child:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last writer is gone
                part = b""
            if not part:
                break
            text += part
    os.close(ours)
    assert child.returncode == 0, text
    return text.decode()


def tensors_of(checkpoint):
    """Without the header, which has the run's history."""
    return checkpoint[8 + int.from_bytes(checkpoint[:8], "little"):]


class DriverWatch:
    """The most that the driver shows for a process, from outside."""

    def __init__(self):
        self.peak = 0
        self.seen = set()
        self.done = False
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done = True
        self.thread.join()

    def watch(self):
        query = ["nvidia-smi", "--query-compute-apps=pid,used_memory",
                 "--format=csv,noheader,nounits"]
        while not self.done:
            shown = subprocess.run(query, capture_output=True, text=True,
                                   check=False).stdout
            for line in shown.splitlines():
                pid, used = (part.strip() for part in line.split(","))
                if used.isdigit():
                    self.seen.add(int(pid))
                    self.peak = max(self.peak, int(used) * MIB)
            time.sleep(0.02)


@needs_gpu
class Gpu(JobTest):
    def check_forecast(self, trained, host_budget, device_budget):
        forecast = trained.summary["forecast"]
        measured = trained.summary["measured"]
        print({name: (forecast[name] // MIB, measured[found] // MIB)
               for name, found in (("host_peak", "host_rss_peak"),
                                   ("device_peak", "device_peak"))})
        for pool in ("host_ledger_peak", "device_ledger_peak",
                     "arena_height"):
            self.assertEqual(forecast[pool], measured[pool], pool)
        self.assertLessEqual(measured["host_rss_peak"], forecast["host_peak"])
        self.assertLessEqual(forecast["host_peak"],
                             1.05 * measured["host_rss_peak"] + 32 * MIB)
        self.assertLessEqual(measured["device_peak"], forecast["device_peak"])
        self.assertLessEqual(forecast["device_peak"],
                             1.05 * measured["device_peak"] + 64 * MIB)
        self.assertLessEqual(measured["host_rss_peak"], host_budget)
        self.assertLessEqual(measured["device_peak"], device_budget)
        self.assertIn("nvml", measured["device_method"])
        self.assertEqual(measured["allocations_after_first_step"], 0)

    def forecast_of(self, *arguments, host=8 * GIB, device=2 * GIB):
        trained = self.train(*arguments, *DEVICE, "--host-memory", f"{host}B",
                             "--device-memory", f"{device}B")
        self.check_forecast(trained, host, device)
        self.assertLessEqual(trained.watched["peak_bytes"], host)
        return trained

    def test_forecast_of_mlp1000(self):
        self.forecast_of(MLP1000, "--set", "data.source.examples=100000")

    def test_forecast_of_linear100(self):
        self.forecast_of(LINEAR100, "--set", "data.source.examples=100000")

    def test_forecast_of_wide_networks(self):
        for units in (1024, 4096):
            self.forecast_of(self.write_job(wide(units, 256)))

    def test_forecast_in_f64(self):
        self.forecast_of(self.write_job(wide(512, 64)), "--precision", "f64")

    def test_forecast_in_halves(self):
        for precision in ("bf16", "f16"):
            self.forecast_of(self.write_job(wide(1024, 256)), "--precision",
                             precision)

    def test_forecast_of_engines_that_are_compiled(self):
        """Also where a partial batch has further ones."""
        layers = [dense(4096, "relu"), {"type": "batch_normalization"},
                  dense(8192, "relu"), {"type": "batch_normalization"},
                  dense(1, "sigmoid")]
        for examples in (4096, 5120):
            job = network(512, layers, 2048, examples)
            self.forecast_of(self.write_job(job), "--precision", "bf16")

    def test_forecast_of_engines_for_long_rows(self):
        layers = [dense(16384, "relu"), {"type": "layer_normalization"},
                  dense(16384, "relu"), {"type": "rms_normalization"},
                  dense(1, "sigmoid")]
        path = self.write_job(network(512, layers, 512))
        self.forecast_of(path, "--precision", "bf16", device=8 * GIB)
        _, plan = self.plan(path, *DEVICE, "--host-memory", "8GiB",
                            "--precision", "bf16")
        kernels = {kernel["kernel"] for program in plan["programs"]
                   for kernel in program["kernels"]}
        for kind in ("layer", "rms"):
            self.assertIn(f"{kind}_norm_grad:cudnn:compiled", kernels)

    def test_halves_learn_what_the_cpu_learns(self):
        path = self.write_job(wide(300, 48, examples=1000, epochs=2))
        for precision in ("bf16", "f16"):
            here, there = (
                self.train(path, *device, "--host-memory", "4GiB",
                           "--precision", precision, watched=False)
                .summary["loss_by_epoch"] for device in (DEVICE, ()))
            for one, other in zip(here, there):
                self.assertAlmostEqual(one, other, delta=0.02 * abs(other))

    def test_f16_resumes_with_the_same_bits(self):
        self.check_resumes(self.write_job(
            wide(64, 16, examples=640, precision="f16")))

    def test_forecast_of_many_launches(self):
        layers = [dense(96 + 8 * (i % 12), "relu") for i in range(48)]
        job = network(96, layers + [dense(1, "sigmoid")], 256)
        self.forecast_of(self.write_job(job))

    def test_forecast_of_many_narrow_layers(self):
        job = network(16, [dense(4, "relu")] * 80 + [dense(1, "sigmoid")], 64)
        self.forecast_of(self.write_job(job))

    def test_forecast_of_a_billion_parameters(self):
        job = network(16384, [dense(16384, "relu")] * 3
                      + [dense(12000, "relu"), dense(1, "sigmoid")], 64,
                      optimizer={"type": "sgd", "learning_rate": 0.001})
        self.forecast_of(self.write_job(job), device=16 * GIB)

    def test_the_line_holds_seen_from_outside(self):
        path = self.write_job(wide(2048, 512, examples=512 * 200))
        code, plan = self.plan(path, *DEVICE, "--host-memory", "4GiB")
        self.assertEqual(code, 0)
        budget = -(-plan["device"]["peak"] // MIB)
        with DriverWatch() as driver:
            self.train(path, *DEVICE, "--host-memory", "4GiB",
                       "--device-memory", f"{budget}MiB")
        self.assertTrue(driver.seen, "nvidia-smi showed no process")
        self.assertLessEqual(driver.peak, budget * MIB)
        smaller = f"{plan['device']['peak'] // MIB - 1}MiB"
        self.train(path, *DEVICE, "--host-memory", "4GiB", "--device-memory",
                   smaller, code=3, watched=False)

    def test_a_small_budget_is_refused_without_a_context(self):
        self.plan(MLP1000, *DEVICE, "--host-memory", "4GiB")  # calibrated
        with DriverWatch() as driver:
            self.train(MLP1000, *DEVICE, "--host-memory", "4GiB",
                       "--device-memory", "100MiB", code=3, watched=False)
            time.sleep(0.1)
        self.assertFalse(driver.seen)

    def test_the_same_seed_gives_the_same_losses(self):
        path = self.write_job(wide(300, 48, examples=1000, epochs=2))
        first, second = (
            self.train(path, *DEVICE, "--host-memory", "4GiB", watched=False)
            .summary["loss_by_epoch"] for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(*(tensors_of(self.checkpoint(run))
                           for run in (1, 2)))
        cpu = self.train(path, "--host-memory", "4GiB", watched=False)
        for here, there in zip(first, cpu.summary["loss_by_epoch"]):
            self.assertAlmostEqual(here, there, delta=1e-4 * abs(there))

    def test_resumes_with_the_same_bits(self):
        self.check_resumes(self.write_job(wide(64, 16, examples=640)))

    def check_resumes(self, path):
        whole = self.train(path, *DEVICE, "--host-memory", "4GiB", "--epochs",
                           4, watched=False)
        folder = self.path("parts")
        for epochs, more in ((2, ()), (4, ("--resume",))):
            ran = self.plimsoll("train", path, *DEVICE, "--host-memory",
                                "4GiB", "--epochs", epochs, "--run-dir",
                                folder, "--quiet", *more)
            self.assertEqual(ran.code, 0, ran.err)
        with open(os.path.join(folder, "summary.json"),
                  encoding="utf-8") as file:
            parts = json.load(file)
        self.assertEqual(parts["loss_by_epoch"][-1],
                         whole.summary["loss_by_epoch"][-1])

    def test_memory_is_flat_over_fifty_epochs(self):
        job = wide(128, 32, examples=2000, epochs=50)
        job["data"]["validation"] = random_source(300, [128])
        trained = self.forecast_of(self.write_job(job))
        anonymous = trained.summary["measured"]["rss_by_epoch"]
        self.assertEqual(len(anonymous), 50)
        self.assertEqual(max(anonymous[2:]) - anonymous[1], 0, anonymous)

    def test_pinned_memory_can_be_switched_off(self):
        path = self.write_job(wide(300, 48, examples=1000))
        losses = [self.train(path, *DEVICE, "--host-memory", "4GiB", "--set",
                             f"memory.pinned={pinned}", watched=False)
                  .summary["loss_by_epoch"] for pinned in ("true", "false")]
        self.assertEqual(*losses)

    def test_all_memory_is_taken_on_request(self):
        path = self.write_job(wide(300, 48, examples=1000, epochs=2))
        for budget in (600 * MIB, 6 * GIB):
            with DriverWatch() as driver:
                trained = self.forecast_of(path, "--set", "memory.growth=false",
                                           device=budget)
            forecast = trained.summary["forecast"]["device_peak"]
            self.assertLessEqual(forecast, budget)
            self.assertLess(budget - forecast, 2 * MIB)
            self.assertLessEqual(driver.peak, budget)
        grown = self.train(path, *DEVICE, "--host-memory", "4GiB",
                           watched=False)
        self.assertEqual(grown.summary["loss_by_epoch"],
                         trained.summary["loss_by_epoch"])

    def test_a_planted_fault_is_named(self):
        mixed = wide(300, 48, examples=1000, epochs=2)
        mixed["model"]["layers"][1]["device"] = "cpu"
        whole = wide(300, 48, examples=1000, epochs=2)
        for op, job in (("dense_2/bias/adam", whole),
                        ("dense_1/relu_grad", whole),
                        ("dense_1/matmul", whole), ("dense_3/matmul", mixed)):
            path = self.write_job(job)
            failed = self.train(path, *DEVICE, "--host-memory", "4GiB",
                                code=1, env={"PLIMSOLL_PLANT_FAULT": op},
                                watched=False)
            self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", failed.ran.err)
            self.assertIn(op, failed.ran.err)
            self.assertIn(op, failed.summary["failed"])

    def test_a_kept_kernel_that_is_refused_is_compiled_again(self):
        path = self.write_job(wide(40, 16))
        code, _ = self.plan(path, *DEVICE, "--host-memory", "4GiB")
        self.assertEqual(code, 0)
        # The figures of this machine, and no kernels yet.
        kept = os.path.join(
            os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
            "plimsoll")
        own = self.path("cache/plimsoll")
        os.makedirs(own)
        for name in os.listdir(kept):
            if name.endswith(".json"):
                shutil.copy(os.path.join(kept, name), own)
        broken = kernel_file(b"\x7fELF" + bytes(2000))
        losses = []
        for _ in range(2):
            trained = self.train(path, *DEVICE, "--host-memory", "4GiB",
                                 env={"XDG_CACHE_HOME": self.path("cache")},
                                 watched=False)
            losses.append(trained.summary["loss_by_epoch"])
            kernels = os.path.join(own, "kernels")
            files = sorted(os.listdir(kernels))
            self.assertTrue(files)
            for name in files:
                with open(os.path.join(kernels, name), "r+b") as file:
                    self.assertNotEqual(file.read(), broken)
                    file.seek(0)
                    file.truncate()
                    file.write(broken)
        self.assertEqual(*losses)

    def test_losses_shown_on_the_way_are_means(self):
        # Nothing is learned: every mean is near the epoch's.
        job = wide(64, 32, examples=32 * 60000, epochs=3,
                   optimizer={"type": "sgd", "learning_rate": 1e-12})
        shown = on_a_terminal(
            "train", self.write_job(job), *DEVICE, "--host-memory", "4GiB",
            "--run-dir", self.path("run"))
        losses = re.findall(r"epoch (\d)/3 · (\d+)/60000 · loss (\S+)", shown)
        self.assertGreater(len(losses), 6, shown)
        for epoch, step, loss in losses:
            self.assertAlmostEqual(float(loss), float(losses[-1][2]),
                                   delta=0.05 * float(losses[-1][2]),
                                   msg=f"epoch {epoch}, step {step}")

    def test_numbers_are_those_of_the_driver(self):
        uuid = CUDA["devices"][-1]["uuid"]
        for visible, uuids in (("", []), (uuid, [uuid])):
            ran = self.plimsoll("devices", "--json",
                                env={"CUDA_VISIBLE_DEVICES": visible})
            shown = json.loads(ran.out)["cuda"]["devices"]
            self.assertEqual([gpu["uuid"] for gpu in shown], uuids)

    def test_tf32_on_request(self):
        path = self.write_job(wide(2048, 256))
        exact, rounded = (
            self.train(path, *DEVICE, "--host-memory", "4GiB", "--set",
                       f"train.tf32={tf32}", watched=False)
            .summary["loss_by_epoch"][0] for tf32 in ("false", "true"))
        self.assertNotEqual(exact, rounded)
        self.assertAlmostEqual(exact, rounded, delta=1e-2 * abs(exact))

    def test_layers_on_the_cpu_beside_the_device(self):
        def placed(*devices, **train):
            layers = [dense(300, "relu"), {"type": "dropout", "rate": 0.2},
                      dense(200, "tanh"), dense(1, "sigmoid")]
            for layer, device in zip(layers, devices):
                if device:
                    layer["device"] = device
            return self.write_job(network(100, layers, 48, examples=1000,
                                          epochs=3, **train))
        whole = self.train(placed(), *DEVICE, "--host-memory", "4GiB",
                           watched=False).summary["loss_by_epoch"]
        for devices in (("cpu", "cpu"), ("", "", "", "cpu"),
                        ("cpu", "", "cpu", ""), ("", "cpu", "", "cpu"),
                        ("cpu", "cpu", "cpu", "cpu")):
            path = placed(*devices)
            losses = self.forecast_of(path).summary["loss_by_epoch"]
            for here, there in zip(losses, whole):
                self.assertAlmostEqual(here, there, delta=1e-4 * abs(there))
            again = self.train(path, *DEVICE, "--host-memory", "4GiB",
                               watched=False).summary["loss_by_epoch"]
            self.assertEqual(losses, again)

    def test_a_large_layer_on_the_cpu_leaves_the_device_small(self):
        layers = [dense(16384, "relu"), dense(64, "relu"),
                  dense(1, "sigmoid")]
        layers[0]["device"] = "cpu"
        job = network(8192, layers, 16, examples=64)
        trained = self.forecast_of(self.write_job(job), host=12 * GIB,
                                   device=400 * MIB)
        # Parameters and Adam's two moments: 1.5 GiB, on the host.
        self.assertGreater(trained.summary["measured"]["host_ledger_peak"],
                           3 * 512 * MIB)

    def test_a_run_with_layers_on_the_cpu_resumes(self):
        job = wide(64, 16, examples=640)
        job["model"]["layers"][0]["device"] = "cpu"
        path = self.write_job(job)
        self.check_resumes(path)

    def test_the_plan_of_a_profile_bounds_the_devices_own(self):
        if "H200" not in CUDA["devices"][0]["model"]:
            self.skipTest("the profile is of another GPU")
        for path in (MLP1000, LINEAR100, self.write_job(wide(2048, 256))):
            peaks = []
            for where in (DEVICE, ("--device-profile", "h200")):
                _, plan = self.plan(path, *where, "--host-memory", "8GiB")
                peaks.append(plan["device"]["peak"])
            self.assertLessEqual(peaks[0], peaks[1])
            self.assertLessEqual(peaks[1], 1.05 * peaks[0])


@needs_gpu
class FirstToExhaust(JobTest):
    """The named memory is the one that does not last."""

    # Ten jobs with budgets under which one memory is the tighter.
    JOBS = [
        ("device", wide(256, 64), "4GiB", "380MiB"),
        ("device", wide(1024, 64), "4GiB", "500MiB"),
        ("device", network(64, [dense(4096, "relu"), dense(1, "sigmoid")], 8),
         "4GiB", "400MiB"),
        ("device", network(512, [dense(512, "gelu")] * 6
                           + [dense(1, "sigmoid")], 8), "4GiB", "450MiB"),
        ("device", network(100, [dense(2000, "relu"), dense(10, "softmax")], 8,
                           loss="categorical_crossentropy"), "4GiB",
         "420MiB"),
        ("host", network(4096, [dense(8, "relu"), dense(1, "sigmoid")], 8),
         "480MiB", "4GiB"),
        ("host", network(1000, [dense(16, "relu"), dense(1, "sigmoid")], 8),
         "460MiB", "4GiB"),
        ("host", network(2000, [dense(1, "sigmoid")], 8), "440MiB", "2GiB"),
        ("host", network(8000, [dense(64, "tanh"), dense(1, "sigmoid")], 4),
         "520MiB", "4GiB"),
        ("host", network(500, [dense(4, "relu"), dense(1, "sigmoid")], 8),
         "450MiB", "4GiB"),
    ]

    def job_at(self, job, batch):
        job = json.loads(json.dumps(job))
        # Enough for a full batch of any size that is tried.
        job["data"]["source"]["examples"] = 2 * 65536
        if job["train"]["loss"] == "categorical_crossentropy":
            job["data"]["source"]["labels"] = {"type": "uniform",
                                               "shape": [10]}
        job["data"]["pipeline"] = stages("batch", "prefetch", batches=1)
        job["train"]["batch"] = batch
        return self.write_job(job)

    def check(self, kind):
        for wanted, job, host, device in self.JOBS:
            if wanted != kind:
                continue
            budgets = (*DEVICE, "--host-memory", host, "--device-memory",
                       device)
            _, plan = self.plan(self.job_at(job, 8), *budgets)
            self.assertEqual(plan["first_to_exhaust"], kind, plan["refusal"])
            last = plan["exhausts_at"][kind] - 1
            print(kind, "lasts to batch", last)
            self.train(self.job_at(job, last), *budgets, watched=False)
            code, refused = self.plan(self.job_at(job, last + 1), *budgets)
            self.assertEqual(code, 3)
            self.assertEqual(refused["first_to_exhaust"], kind)
            self.assertIn(f"{kind}", refused["refusal"])
            # Nobody refusing beforehand, the allocation fails there.
            failed = self.train(self.job_at(job, last + 1), *budgets,
                                watched=False, code=1,
                                env={"PLIMSOLL_UNGUARDED": "1"})
            print(failed.ran.err.strip())
            self.assertIn("the system refused", failed.ran.err)
            self.assertIn(f"of {kind} memory", failed.ran.err)

    def test_five_jobs_end_at_the_devices_memory(self):
        self.check("device")

    def test_five_jobs_end_at_the_hosts_memory(self):
        self.check("host")


if __name__ == "__main__":
    main()
