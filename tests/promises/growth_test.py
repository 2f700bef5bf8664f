"""All memory up front, where growth is off."""
from harness import MIB, JobTest, main, measures_memory, small_job

BUDGET = 96 * MIB
HOST = ("--host-memory", f"{BUDGET}B")
PROFILE = ("--device-profile", "h200", "--host-memory", "2GiB",
           "--device-memory", "600MiB")
OFF = ("--set", "memory.growth=false")


class Growth(JobTest):
    def check_same_verdict(self, grown, taken):
        for key in ("fits", "first_to_exhaust", "exhausts_at", "choices",
                    "numerics_key"):
            self.assertEqual(grown[key], taken[key], key)

    def check_taken(self, grown, taken, granule):
        """Of a space: the budget is full, in whole granules."""
        reserved = taken["reserved"]
        self.assertEqual(grown["reserved"], 0)
        self.assertEqual(grown["accounts"]["cache"], 0)
        self.assertEqual(reserved, taken["accounts"]["cache"])
        self.assertEqual(reserved % granule, 0)
        self.assertEqual(sum(taken["accounts"].values()), taken["peak"])
        self.assertLessEqual(taken["peak"], taken["budget"])
        self.assertLess(taken["budget"] - taken["peak"], granule)
        self.assertEqual(taken["pools"] - grown["pools"], reserved)

    def test_a_device_is_planned_full(self):
        path = self.write_job(small_job())
        code, grown = self.plan(path, *PROFILE)
        self.assertEqual(code, 0)
        code, taken = self.plan(path, *PROFILE, *OFF)
        self.assertEqual(code, 0)
        self.check_same_verdict(grown, taken)
        self.check_taken(grown["device"], taken["device"], 2 * MIB)
        self.assertEqual(taken["host"]["reserved"], 0)
        text = self.plimsoll("plan", path, *PROFILE, *OFF).out
        self.assertIn("reserved: growth is off", text)
        self.assertIn("taken when the job starts", text)

    def test_what_does_not_fit_reserves_nothing(self):
        path = self.write_job(small_job())
        small = (*PROFILE[:-1], "100MiB")
        code, grown = self.plan(path, *small)
        self.assertEqual(code, 3)
        code, taken = self.plan(path, *small, *OFF)
        self.assertEqual(code, 3)
        self.assertEqual(grown["device"]["peak"], taken["device"]["peak"])
        self.assertEqual(grown["remedies"], taken["remedies"])
        self.check_same_verdict(grown, taken)

    @measures_memory
    def test_the_hosts_budget_is_taken(self):
        path = self.write_job(small_job() | {"memory": {"growth": False}})
        code, taken = self.plan(path, *HOST)
        self.assertEqual(code, 0)
        _, grown = self.plan(path, *HOST, "--set", "memory.growth=true")
        self.check_taken(grown["host"], taken["host"], 4096)
        self.check_same_verdict(grown, taken)
        trained = self.train(path, *HOST, "--epochs", 3)
        forecast = trained.summary["forecast"]
        measured = trained.summary["measured"]
        self.assertEqual(forecast["host_peak"], taken["host"]["peak"])
        self.assertEqual(forecast["host_ledger_peak"],
                         measured["host_ledger_peak"])
        self.assertLessEqual(measured["host_rss_peak"], BUDGET)
        self.assertLessEqual(trained.watched["peak_bytes"], BUDGET)
        self.assertGreaterEqual(1.05 * measured["host_rss_peak"] + 32 * MIB,
                                BUDGET)
        anonymous = measured["rss_by_epoch"]
        self.assertEqual(anonymous[1], anonymous[2])
        again = self.train(path, *HOST, "--epochs", 3, "--set",
                           "memory.growth=true", watched=False)
        self.assertEqual(again.summary["loss_by_epoch"],
                         trained.summary["loss_by_epoch"])

    def test_growth_is_true_or_false(self):
        path = self.write_job(small_job())
        ran = self.plimsoll("plan", path, "--set", "memory.growth=7")
        self.assertEqual(ran.code, 2)
        self.assertIn("memory.growth", ran.err)


if __name__ == "__main__":
    main()
