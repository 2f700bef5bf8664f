"""Each program of examples/programs, small: the problem's peak is at least
three times the cure's, whole processes compared."""
import json
import os
import subprocess
import sys
import unittest

FOLDER = os.environ["PLIMSOLL_PROGRAMS"]
TIMES = 3


class Programs(unittest.TestCase):
    def run_program(self, name, *arguments):
        return subprocess.run([os.path.join(FOLDER, name), *arguments],
                              capture_output=True, text=True, timeout=120,
                              check=False)

    def check(self, name):
        ran = self.run_program(name, "--small")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        result = json.loads(ran.stdout.splitlines()[-1])
        self.assertTrue(result["held"])
        worse = []  # what comes before a cure: advice must not be one either
        for part in result["parts"]:
            name, peak = part["name"], part["measured_bytes"]
            if part["role"] != "cure":
                worse.append(peak)
                continue
            self.assertLessEqual(peak, result["line_bytes"], name)
            self.assertLessEqual(peak, part["forecast_bytes"], name)
            self.assertLessEqual(part["forecast_bytes"],
                                 1.05 * peak + (32 << 20), name)
            self.assertGreaterEqual(min(worse), TIMES * peak, ran.stdout)
            worse = []
        self.assertEqual(worse, [], "no cure for these")
        return ran.stdout

    def test_accumulation(self):
        self.check("accumulation")

    def test_after_one_epoch(self):
        printed = self.check("after_one_epoch")
        # By the ledger, or by what is not in it: the culprit is named.
        grown = [[float(part.split()[-2]) for part in line.split(",")]
                 for line in printed.replace(";", ",").splitlines()
                 if "the process grew by" in line]
        (_, tensors, _), (_, _, arrays), (_, session, own) = grown
        self.assertGreater(min(tensors, arrays), 150)
        self.assertLess(max(session, own), 2)

    def test_data_larger_than_memory(self):
        self.check("data_larger_than_memory")

    def test_eager_chain(self):
        self.check("eager_chain")

    def test_memory_limits(self):
        printed = self.check("memory_limits")
        self.assertRegex(printed, r"refused: the job needs \S+ MiB of host "
                         r"memory, .*\n.*: --precision bf16 --batch \d+\n")
        self.assertRegex(printed, r"(host|device) memory runs out first:\n")
        self.assertRegex(printed, r"host memory runs out.* at batch \d+\n"
                         r".*device memory runs out.* at batch \d+\n")

    def test_resize_in_the_pipeline(self):
        self.check("resize_in_the_pipeline")

    def test_tape_loop(self):
        self.check("tape_loop")

    def test_traced_loop(self):
        printed = self.check("traced_loop")
        self.assertRegex(printed, r"1 trace, 100 steps\n")

    def test_bad_arguments_give_a_usage_line(self):
        for arguments in (["--smal"], ["--part"], ["--part", "nothing"],
                          ["--folder"], ["more"]):
            ran = self.run_program("eager_chain", *arguments)
            self.assertEqual(ran.returncode, 2, arguments)
            self.assertEqual(ran.stdout, "")
            self.assertRegex(ran.stderr, r"^usage: .*eager_chain \[--small\]")
            self.assertEqual(ran.stderr.count("\n"), 1)


if __name__ == "__main__":
    sys.argv[1:] = ["Programs." + name for name in sys.argv[1:]]
    unittest.main(verbosity=2)
