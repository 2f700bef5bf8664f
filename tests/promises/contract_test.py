"""`plan --json` and `train` give other programs what the contract says."""
import os

from harness import (EXAMPLES, MIB, JobTest, dense, main, measures_memory,
                     random_source, small_job, stages)

PURPOSES = {"parameters", "gradients", "optimizer", "activations", "scratch",
            "pipeline", "staging", "cache", "runtime", "user"}
NUMBER = (int, float)
NULL = type(None)
CHOICES = {"micro_batch": int, "accumulation_steps": int,
           "recomputed_ops": int, "offloaded_bytes": int, "precision": str,
           "prefetch_batches": int, "numerics": str}
REMEDY = {"change": str, "apply": str, "host_bytes_saved": int,
          "device_bytes_saved": int, "slowdown": NUMBER}
PLAN = {"fits": bool, "exact": bool, "host": dict, "device": NULL,
        "first_to_exhaust": (str, NULL), "exhausts_at": dict,
        "choices": dict, "step_seconds": dict, "remedies": list}
FORECAST = {"host_peak": int, "host_ledger_peak": int, "device_peak": NULL,
            "device_ledger_peak": NULL}
MEASURED = {"host_rss_peak": int, "host_ledger_peak": int,
            "device_peak": NULL, "device_ledger_peak": NULL,
            "device_method": NULL, "rss_by_epoch": list,
            "allocations_after_first_step": int}
SUMMARY = {"forecast": dict, "measured": dict, "steps": int,
           "seconds": NUMBER, "examples_per_second": NUMBER,
           "loss_by_epoch": list, "metrics": dict}


def jobs():
    """Five jobs that reach their budgets at quite different batches."""
    plain = small_job(5000, 300)
    resident = small_job(8000, 100)
    resident["data"]["residency"] = "memory"
    ring = small_job(5000, 500)
    ring["data"]["pipeline"] = stages("batch", "prefetch", batches=5)
    wide = small_job(3000, 64)
    wide["model"]["layers"] = [dense(1024, "gelu"),
                               {"type": "dropout", "rate": 0.5},
                               dense(1, "sigmoid")]
    wide["train"]["optimizer"] = {"type": "sgd", "momentum": 0.9}
    double = small_job(4096, 128)
    double["train"]["precision"] = "f64"
    double["data"]["validation"] = random_source(1000, [128])
    return {"plain": plain, "resident": resident, "ring": ring,
            "wide": wide, "double": double}


def first_to_exhaust(plan):
    """What the other keys of the object say it must be."""
    if not plan["fits"]:
        return max(("host", "device"),
                   key=lambda space: plan[space]["peak"]
                   / max(plan[space]["budget"], 1))
    at = {space: batch for space, batch in plan["exhausts_at"].items()
          if batch is not None}
    return min(at, key=at.get) if at else None


class PlanContract(JobTest):
    def expect_types(self, value, types):
        for key, kind in types.items():
            self.assertIn(key, value)
            self.assertIsInstance(value[key], kind, key)
            if kind is int or kind == NUMBER:
                self.assertNotIsInstance(value[key], bool, key)

    def check_space(self, space):
        self.expect_types(space, {"budget": int, "budget_source": str,
                                  "peak": int, "accounts": dict})
        self.assertEqual(set(space["accounts"]), PURPOSES)
        for bytes_held in space["accounts"].values():
            self.assertIsInstance(bytes_held, int)
            self.assertGreaterEqual(bytes_held, 0)
        self.assertEqual(sum(space["accounts"].values()), space["peak"])
        self.assertLessEqual(space["allowance"], 32 * MIB)

    def check_object(self, plan, device=NULL):
        self.expect_types(plan, PLAN | {"device": device})
        spaces = [plan["host"]] + ([plan["device"]] if plan["device"] else [])
        for space in spaces:
            self.check_space(space)
        self.assertEqual(plan["fits"], all(
            space["peak"] <= space["budget"] for space in spaces))
        self.assertEqual(set(plan["exhausts_at"]), {"host", "device"})
        if device is NULL:
            self.assertIsNone(plan["exhausts_at"]["device"])
        self.expect_types(plan["choices"], CHOICES)
        self.assertIn(plan["choices"]["numerics"], ("bitwise", "rounding"))
        self.expect_types(plan["step_seconds"], dict.fromkeys(
            ("input", "copy", "compute"), NUMBER))
        for remedy in plan["remedies"]:
            self.expect_types(remedy, REMEDY)
        for program in plan["programs"]:
            used = program["kernels"]
            for kernel in used:
                self.expect_types(kernel, {"kernel": str, "instructions": int,
                                           "scratch_bytes": int})
                self.assertTrue(kernel["kernel"])
            self.assertEqual(sum(kernel["instructions"] for kernel in used),
                             program["instructions"])

    def test_a_plan_names_the_kernels_that_it_has_chosen(self):
        networks = os.path.join(EXAMPLES, "models")
        _, plan = self.plan(os.path.join(networks, "resnet50.toml"),
                            "--batch", 256, "--precision", "bf16",
                            "--device-profile", "h200",
                            "--host-memory", "4GiB")
        kernels = {kernel["kernel"]: kernel
                   for kernel in plan["programs"][0]["kernels"]}
        norm = kernels["batch_norm:cudnn:compiled"]
        self.assertEqual(norm["instructions"], 53)
        self.assertGreater(norm["scratch_bytes"], 0)
        self.assertTrue(any(name.startswith("conv2d:cudnn")
                            for name in kernels), kernels)

    def test_a_batch_larger_than_the_data_is_noted(self):
        path = self.write_job(small_job(20))
        said = "20 examples, fewer than a batch of "
        self.assertIn(said + "32", self.plimsoll("plan", path).out)
        ran = self.plimsoll("plan", path, "--batch", 20)
        self.assertNotIn(said, ran.out)

    def test_the_object_has_every_key_with_its_type(self):
        for name, job in jobs().items():
            path = self.write_job(job)
            for budget in ("1MiB", "24MiB", "1GiB", "30%"):
                with self.subTest(name, budget=budget):
                    code, plan = self.plan(path, "--host-memory", budget)
                    self.check_object(plan)
                    self.assertEqual(code, 0 if plan["fits"] else 3)
                    self.assertEqual(plan["host"]["budget_source"],
                                     "--host-memory")

    def test_a_shipped_profile_plans_both_memories(self):
        for name, job in jobs().items():
            path = self.write_job(job)
            for host, device in (("4GiB", "4GiB"), ("1MiB", "4GiB"),
                                 ("4GiB", "1MiB"), ("10MiB", "1MiB")):
                with self.subTest(name, host=host, device=device):
                    code, plan = self.plan(
                        path, "--device-profile", "h200", "--host-memory",
                        host, "--device-memory", device)
                    self.check_object(plan, dict)
                    self.assertIs(plan["exact"], False)
                    self.assertEqual(code, 0 if plan["fits"] else 3)
                    self.assertEqual(plan["device"]["budget_source"],
                                     "--device-memory")
                    self.assertEqual(plan["first_to_exhaust"],
                                     first_to_exhaust(plan))

    def test_the_batch_that_exhausts_the_device_is_sharp(self):
        for name, job in jobs().items():
            path = self.write_job(job)
            wide = ("--device-profile", "t4", "--host-memory", "100%")
            _, plan = self.plan(path, *wide)
            limit = ("--device-memory", f"{plan['device']['peak'] + MIB}B")
            with self.subTest(name):
                _, plan = self.plan(path, *wide, *limit)
                at = plan["exhausts_at"]["device"]
                self.assertGreater(at, job["train"]["batch"])
                for batch, fits in ((at - 1, True), (at, False)):
                    _, plan = self.plan(path, *wide, *limit, "--batch", batch)
                    self.assertIs(plan["device"]["peak"] <=
                                  plan["device"]["budget"], fits)

    def test_slowdowns_rise_among_remedies_that_keep_the_budget(self):
        job = small_job(50000, 500)
        job["data"]["residency"] = "memory"
        job["train"] |= {"batch": 4096, "precision": "f64"}
        path = self.write_job(job)
        _, wide = self.plan(path, "--host-memory", "100%")
        floor = wide["host"]["runtime_floor"] + wide["host"]["allowance"]
        _, plan = self.plan(path, "--host-memory", f"{floor + 20 * MIB}B")
        kept = [remedy["slowdown"] for remedy in plan["remedies"]
                if remedy["apply"] and "--host-memory" not in remedy["apply"]]
        self.assertGreater(len(kept), 1)
        self.assertEqual(kept, sorted(kept))

    def test_the_batch_that_exhausts_is_sharp(self):
        for name, job in jobs().items():
            path = self.write_job(job)
            _, wide = self.plan(path, "--host-memory", "100%")
            budget = f"{wide['host']['peak'] + 3000000}B"
            with self.subTest(name, budget=budget):
                _, plan = self.plan(path, "--host-memory", budget)
                at = plan["exhausts_at"]["host"]
                self.assertGreater(at, job["train"]["batch"])
                self.assertEqual(plan["first_to_exhaust"], "host")
                for batch, code in ((at - 1, 0), (at, 3)):
                    self.assertEqual(
                        self.plan(path, "--host-memory", budget, "--batch",
                                  batch)[0], code, f"batch {batch} of {at}")

    def test_nothing_exhausts_where_every_batch_fits(self):
        job = small_job(1000, 4)
        _, plan = self.plan(self.write_job(job), "--host-memory", "2GiB")
        self.assertIsNone(plan["first_to_exhaust"])
        self.assertIsNone(plan["exhausts_at"]["host"])

    def test_rows_of_a_sweep_agree_with_single_plans(self):
        path = self.write_job(jobs()["resident"])
        _, wide = self.plan(path, "--host-memory", "100%")
        limit = ("--host-memory", f"{wide['host']['peak'] + 1500000}B")
        for key, span, flags in (
                ("batch", "32:3000", lambda at: ("--batch", at)),
                ("examples", "500:20000",
                 lambda at: ("--set", f"data.source.examples={at}"))):
            _, swept = self.plan(path, *limit, "--sweep", f"{key}={span}")
            rows = swept["sweep"]
            first, last = map(int, span.split(":"))
            self.assertEqual((rows[0][key], rows[-1][key]), (first, last))
            self.assertEqual(len({row["fits"] for row in rows}), 2,
                             "the range should pass the budget")
            for row in rows:
                code, plan = self.plan(path, *limit, *flags(row[key]))
                self.assertEqual(row["host_peak"], plan["host"]["peak"])
                self.assertEqual(row["fits"], plan["fits"])
                self.assertEqual(code, 0 if row["fits"] else 3)

    def test_the_summary_has_every_key_with_its_type(self):
        job = small_job()
        job["train"] |= {"epochs": 2, "metrics": ["accuracy"]}
        job["data"]["validation"] = random_source(100, [16])
        summary = self.train(self.write_job(job), watched=False).summary
        self.expect_types(summary, SUMMARY)
        self.expect_types(summary["forecast"], FORECAST)
        self.expect_types(summary["measured"], MEASURED)
        self.assertEqual(len(summary["measured"]["rss_by_epoch"]), 2)
        self.assertEqual(set(summary["metrics"]), {
            "accuracy", "val_loss", "val_accuracy"})
        names = os.listdir(self.path("run-1"))
        self.assertLessEqual({"plan.json", "log.jsonl", "summary.json",
                              "checkpoints"}, set(names))
        self.assertTrue(any("tfevents" in name for name in names))

    @measures_memory
    def test_the_examples_fit_their_own_budgets(self):
        for name in ("mlp1000", "linear100"):
            code, plan = self.plan(os.path.join(EXAMPLES,
                                                f"jobs/{name}.toml"))
            self.assertEqual(code, 0)
            self.assertEqual(plan["host"]["budget"], 128 * MIB)
            self.check_object(plan)


if __name__ == "__main__":
    main()
