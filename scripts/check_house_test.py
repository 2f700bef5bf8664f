#!/usr/bin/env python3
"""Plants violations in a small tree and checks that each one is named."""
import pathlib
import sys
import tempfile
import unittest

import check_house

SCRIPTS = pathlib.Path(__file__).resolve().parent


class HouseTest(unittest.TestCase):
    def complaints(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "scripts").mkdir()
            (root / "scripts" / "house.txt").write_text(
                (SCRIPTS / "house.txt").read_text())
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return list(check_house.check_tree(root))

    def assert_clean(self, name, text):
        self.assertEqual(self.complaints({name: text}), [])

    def assert_named(self, name, text, line):
        found = self.complaints({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{name}:{line}: "), found)

    def test_rows(self):
        self.assert_clean("src/device/cpu/a.cpp", '#include "memory/ledger.h"')
        self.assert_named("src/memory/a.cpp",
                          '#include <map>\n#include "device/a.h"', 2)
        self.assert_named("src/base/a.h", '#include "memory/ledger.h"', 1)
        self.assert_named("src/graph/a.h", '#  include "ops/a.h"', 1)

    def test_what_rows_allow_goes_along(self):
        self.assert_clean("src/train/a.cpp", '#include "memory/ledger.h"\n'
                          '#include "graph/graph.h"\n#include "base/a.h"')
        self.assert_named("src/runtime/a.cpp", '#include "io/npy.h"', 1)

    def test_single_headers_bring_nothing_along(self):
        self.assert_clean("src/plan/a.h", '#include "memory/purpose.h"')
        self.assert_named("src/plan/a.h", '#include "memory/arena.h"', 1)

    def test_kernels_beside_definitions(self):
        line = '#include "device/cpu/compute_threads.h"'
        self.assert_clean("src/ops/matmul/matmul_cpu.cpp", line)
        self.assert_named("src/ops/matmul/matmul.cpp", line, 1)
        self.assert_named("src/ops/matmul/matmul.cpp",
                          '#include "ops/cpu_kernels.h"', 1)
        self.assert_clean("src/ops/matmul/matmul_cpu.cpp",
                          '#include "ops/cpu_kernels.h"')

    def test_front_ends_may_include_all(self):
        self.assert_clean("src/cli/a.cpp", '#include "plan/a.h"')

    def test_facade(self):
        self.assert_clean("include/plimsoll/a.h", '#include <vector>\n'
                          '#include "plimsoll/b.h"')
        self.assert_named("include/plimsoll/a.h", '#include "base/a.h"', 1)
        self.assert_named("include/plimsoll/a.h", '#include <fmt/core.h>', 1)
        self.assert_clean("src/memory/a.h", '#include "plimsoll/b.h"')

    def test_unknown_places(self):
        self.assert_named("src/memory/a.h", '#include "ledger.h"', 1)
        self.assert_named("src/elsewhere/a.h", "", 1)

    def test_system_calls(self):
        self.assert_clean("src/device/cpu/a.cpp", "void* p = mmap(0);")
        self.assert_named("src/memory/a.cpp", "\nvoid* p = ::mmap(0);", 2)
        self.assert_clean("src/memory/a.cpp", "// not mmap(0)\nsource.mmap(0);")

    def test_libraries(self):
        self.assert_clean("src/device/cpu/a.cpp", "#include <tbb/task_arena.h>")
        self.assert_named("src/plan/a.cpp", "#include <tbb/task_arena.h>", 1)

    def test_unknown_row_is_refused(self):
        with self.assertRaises(ValueError):
            check_house.House("base:\nmemory: attic")


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    sys.exit(not result.wasSuccessful())
