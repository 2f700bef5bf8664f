"""Loops by hand, watched from outside: nothing grows, the line holds."""
import os
import subprocess
import unittest
from typing import NamedTuple

from harness import MIB, clean_environment, main, measures_memory

PROGRAM = os.environ["PLIMSOLL_LOOPS"]

# Remainders of malloc's blocks that are too small to be split.
SLACK = 512


class Sample(NamedTuple):
    done: int
    held: int  # by the ledger
    live: int  # likewise, without what is free
    malloc: int  # in use
    anonymous: int
    peak: int  # of what is resident, ever


def kib_field(path, name):
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"{path} has no {name}")


# What malloc keeps in caches would count as given out.
EXACT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def run_loop(name, count, host, size=0):
    """What the loop's process holds at its start and at each tenth."""
    samples = []
    with subprocess.Popen(
            [PROGRAM, name, str(count), host, str(size)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment() | EXACT) as child:
        for line in child.stdout:
            figures = map(int, line.split()[1::2])
            proc = f"/proc/{child.pid}"
            samples.append(Sample(
                *figures,
                kib_field(f"{proc}/smaps_rollup", "Anonymous"),
                kib_field(f"{proc}/status", "VmHWM")))
            child.stdin.write("\n")
            child.stdin.flush()
        error = child.stderr.read()
    if child.returncode != 0:
        raise AssertionError(f"{name}: {error}")
    for sample in samples:
        print(f"{name} {sample.done:>8}: anonymous {sample.anonymous:,}, "
              f"ledger {sample.held:,}, live {sample.live:,}, "
              f"malloc {sample.malloc:,}, peak {sample.peak:,}")
    return samples


@measures_memory
class Loops(unittest.TestCase):
    def check_ledger(self, samples):
        self.assertEqual(len(samples), 11)
        for later in samples[2:]:
            self.assertLessEqual(later.held, samples[1].held)
            self.assertEqual(later.live, samples[1].live)

    def check_flat(self, samples):
        """From a tenth on not a byte is added; malloc's free memory hides
        none either."""
        self.check_ledger(samples)
        for later in samples[2:]:
            self.assertLessEqual(later.malloc, samples[1].malloc + SLACK)
            self.assertLessEqual(later.anonymous, samples[1].anonymous)

    def check_plans(self, name, count, slack=SLACK):
        """Plans come and go by the thousand: what malloc has given out stays
        the same. Where it lies wanders, and so a few pages come and go."""
        samples = run_loop(name, count, "256MiB")
        self.check_ledger(samples)
        for later in samples[2:]:
            self.assertLessEqual(later.malloc, samples[1].malloc + slack)
            self.assertLessEqual(later.anonymous,
                                 samples[1].anonymous + 64 * 1024)

    def test_a_million_ops(self):
        samples = run_loop("ops", 1_000_000, "256MiB")
        self.check_flat(samples)
        self.assertEqual(samples[-1].live, samples[0].live)

    def test_ten_thousand_tapes(self):
        samples = run_loop("tapes", 10_000, "256MiB")
        self.check_flat(samples)
        self.assertEqual(samples[-1].live, samples[0].live)

    def test_a_thousand_traced_signatures(self):
        # The sixteen that are kept are not the same: some have other kernels.
        self.check_plans("functions", 1_000, slack=2048)

    def test_one_model_fitted_ten_thousand_times(self):
        self.check_plans("fit", 10_000)

    def test_ten_thousand_models(self):
        self.check_plans("models", 10_000)

    def test_a_chain_of_products(self):
        """Two of 40 MB are alive at a time; together they were 1.2 GB."""
        samples = run_loop("products", 30, "150MiB", 10_000)
        self.check_ledger(samples)
        self.assertLessEqual(samples[-1].peak, 150 * MIB)

    def test_random_sizes(self):
        """The loop itself compares what is held with what was alive."""
        run_loop("sizes", 1_000_000, "256MiB")


if __name__ == "__main__":
    main()
