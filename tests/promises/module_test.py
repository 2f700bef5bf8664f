"""The CPU's program carries nothing of CUDA's, and says what is missing."""
import os
import subprocess

from harness import EXAMPLES, PROGRAM, JobTest, main

MLP1000 = os.path.join(EXAMPLES, "jobs/mlp1000.toml")
CUDAS = ("cuda", "cublas", "nvrtc", "cudnn", "nvidia", "nccl")


class Module(JobTest):
    def test_the_program_needs_no_library_of_cuda(self):
        shown = subprocess.run(["readelf", "-d", PROGRAM], check=True,
                               capture_output=True, text=True).stdout
        needed = [line.split("[")[1].rstrip("]")
                  for line in shown.splitlines() if "(NEEDED)" in line]
        self.assertIn("libc.so.6", needed)
        for library in needed:
            for name in CUDAS:
                self.assertNotIn(name, library)

    def test_a_job_on_the_cpu_maps_nothing_of_cuda(self):
        job = ("train", MLP1000, "--host-memory", "100%", "--quiet",
               "--run-dir", self.path("run"), "--epochs", "100000")
        with subprocess.Popen([PROGRAM, *job]) as child:
            log = self.path("run/plan.json")
            while child.poll() is None and not os.path.exists(log):
                pass
            with open(f"/proc/{child.pid}/maps", encoding="ascii") as file:
                maps = file.read()
            child.terminate()
        self.assertIn("libc.so.6", maps)
        for name in CUDAS:
            self.assertNotIn(f"lib{name}", maps)

    def test_a_missing_module_is_named(self):
        broken = self.path("libplimsoll_cuda.so")
        with open(broken, "w", encoding="ascii") as file:
            file.write("no library")
        source = self.path("kernel.cu")
        with open(source, "w", encoding="ascii") as file:
            file.write('extern "C" __global__ void run(void* p0) {}\n')
        for path, said in ((broken, "cannot be opened"),
                           (self.path("nowhere.so"), "is not there")):
            done = subprocess.run(
                [PROGRAM, "compile-kernel", source, "sm_90"], check=False,
                capture_output=True, text=True,
                env=os.environ | {"PLIMSOLL_CUDA_MODULE": path})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    main()
