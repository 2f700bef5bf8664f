"""Jobs on a GPU that only pretends: what goes wrong there, and is said."""
import json
import os

from harness import JobTest, dense, main, read_json, small_job

FAKES = os.environ["PLIMSOLL_FAKES"]
# In place of driver, NVML and module; see tests/device/fake_*.cpp.
FAKE = {"LD_LIBRARY_PATH": FAKES,
        "PLIMSOLL_CUDA_MODULE": os.path.join(FAKES,
                                             "libfake_cuda_module.so.1")}
CACHE = os.path.join(os.environ["XDG_CACHE_HOME"], "fake")
DEVICE = ("--device", "cuda:0", "--host-memory", "4GiB")


class Device(JobTest):
    def setUp(self):
        super().setUp()
        self.fake = FAKE | {"XDG_CACHE_HOME": CACHE}
        shown = json.loads(self.plimsoll("devices", "--json",
                                         env=self.fake).out)
        if not shown["cuda"]["built"]:
            self.skipTest("this build has no CUDA module")

    def train_here(self, *arguments, code=0, job=None, **variables):
        path = self.write_job(job or small_job())
        return self.train(path, *DEVICE, *arguments, watched=False, code=code,
                          env=self.fake | variables)

    def test_a_job_runs(self):
        trained = self.train_here()
        self.assertEqual(trained.summary["steps"], 20)
        self.assertNotIn("failed", trained.summary)

    def test_a_planted_fault_is_named(self):
        for op in ("dense_2/bias/adam", "dense_1/relu_grad", "dense_1/matmul"):
            failed = self.train_here(code=1, PLIMSOLL_PLANT_FAULT=op)
            self.assertIn(op, failed.ran.err)
            self.assertIn(op, failed.summary["failed"])
            self.assertLess(failed.summary["steps"], 20)

    def test_without_fixed_pages_a_fault_has_no_name(self):
        op = "dense_2/bias/adam"
        failed = self.train_here("--set", "memory.pinned=false", code=1,
                                 PLIMSOLL_PLANT_FAULT=op)
        self.assertIn("ILLEGAL_ADDRESS", failed.summary["failed"])
        self.assertNotIn(op, failed.summary["failed"])

    def test_a_checkpoint_outlives_a_fault(self):
        folder = self.path("kept")
        path = self.write_job(small_job())
        for epochs, code, more in ((1, 0, {}),
                                   (2, 1, {"PLIMSOLL_PLANT_FAULT": "adam"}),
                                   (2, 1, {"FAKE_CUDA_FAILS": "load"}),
                                   (2, 0, {})):
            ran = self.plimsoll("train", path, *DEVICE, "--epochs", epochs,
                                "--run-dir", folder, "--resume", "--quiet",
                                env=self.fake | more)
            self.assertEqual(ran.code, code, ran.err)
            summary = read_json(os.path.join(folder, "summary.json"))
            self.assertEqual("failed" in summary, code == 1, summary)
        self.assertEqual(len(summary["loss_by_epoch"]), 2)

    def test_a_fault_before_the_first_step_leaves_a_summary(self):
        failed = self.train_here(code=1, FAKE_CUDA_FAILS="load")
        self.assertIn("INVALID_IMAGE", failed.ran.err)
        self.assertIn("INVALID_IMAGE", failed.summary["failed"])
        self.assertEqual(failed.summary["steps"], 0)

    def test_a_kernel_that_does_not_run_is_the_devices_fault(self):
        failed = self.train_here(code=1, FAKE_CUDA_FAILS="local")
        self.assertIn("counters/increment: a kernel uses local memory",
                      failed.summary["failed"])

    def test_kernels_are_compiled_ahead_where_memory_allows(self):
        self.train_here("--threads", 2, FAKE_CUDA_FAILS="late")
        for alone in (("--threads", 1),
                      ("--threads", 2, "--host-memory", "400MiB")):
            self.train_here(*alone)  # what is measured once, is now
            late = self.train_here(*alone, code=1, FAKE_CUDA_FAILS="late")
            self.assertIn("not compiled ahead", late.summary["failed"])

    def test_the_forecast_counts_launches(self):
        job = small_job(320, 96)
        job["model"]["layers"] = [dense(96 + 8 * (i % 5), "relu")
                                  for i in range(40)] + [dense(1, "sigmoid")]
        job["train"]["batch"] = 160
        summary = self.train_here(job=job).summary
        self.assertLessEqual(summary["measured"]["device_peak"],
                             summary["forecast"]["device_peak"])

    def use_own_cache(self):
        self.fake |= {"XDG_CACHE_HOME": self.path("cache")}
        self.plimsoll("devices", env=self.fake)

    def kept(self):
        folder = self.path("cache/plimsoll")
        return [name for name in os.listdir(folder)
                if name.startswith("cuda-")]

    def test_what_was_measured_is_kept_for_its_settings(self):
        self.use_own_cache()
        before = self.kept()
        self.train_here()
        _, plan = self.plan(self.path("job.toml"), *DEVICE, env=self.fake)
        self.assertIn("cublaslt=1.2.3", plan["fingerprint"])
        self.assertTrue(plan["exact"])
        self.assertEqual(self.kept(), before)
        for setting in ("train.tf32=true", "memory.pinned=false"):
            self.train_here("--set", setting)
        self.assertEqual(len(self.kept()), len(before) + 2)

    def test_on_a_shared_gpu_nothing_is_kept(self):
        shared = {"FAKE_NVML_MUTE": "1", "PLIMSOLL_CUDA_MODULE":
                  self.path("module.so")}
        os.symlink(self.fake["PLIMSOLL_CUDA_MODULE"], self.path("module.so"))
        self.use_own_cache()
        before = self.kept()
        trained = self.train_here(**shared)
        self.assertIn("other processes use the GPU", trained.ran.err)
        _, plan = self.plan(self.path("job.toml"), *DEVICE,
                            env=self.fake | shared)
        self.assertFalse(plan["exact"])
        self.assertEqual(self.kept(), before)


if __name__ == "__main__":
    main()
