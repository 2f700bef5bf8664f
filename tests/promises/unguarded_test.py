"""Without the guard the system refuses, in the memory that was named."""
from harness import JobTest, dense, main, measures_memory, small_job

UNGUARDED = {"PLIMSOLL_UNGUARDED": "1"}


@measures_memory
class Unguarded(JobTest):
    def write(self, layers, batch):
        job = small_job(2 * 65536)
        job["model"]["layers"] = layers
        job["train"]["batch"] = batch
        return self.write_job(job)

    def test_the_allocation_fails_where_the_plan_says(self):
        for layers, budget in (
                ([dense(8, "relu"), dense(1, "sigmoid")], "30MiB"),
                ([dense(300, "relu"), dense(1, "sigmoid")], "40MiB"),
                ([dense(64, "gelu")] * 4 + [dense(1, "sigmoid")], "50MiB")):
            host = ("--host-memory", budget)
            _, plan = self.plan(self.write(layers, 8), *host)
            self.assertEqual(plan["first_to_exhaust"], "host")
            last = plan["exhausts_at"]["host"] - 1
            self.train(self.write(layers, last), *host, watched=False,
                       env=UNGUARDED)
            past = self.write(layers, last + 1)
            failed = self.train(past, *host, watched=False, code=1,
                                env=UNGUARDED)
            self.assertIn("the system refused", failed.ran.err)
            self.assertIn("of host memory", failed.ran.err)
            self.train(past, *host, watched=False, code=3,
                       env={"PLIMSOLL_UNGUARDED": "0"})

    def test_a_whole_set_in_memory(self):
        path = self.write_job(small_job(200000, 100))
        failed = self.train(path, "--host-memory", "64MiB", "--set",
                            "data.residency=memory", watched=False, code=1,
                            env=UNGUARDED)
        self.assertIn("of host memory", failed.ran.err)


if __name__ == "__main__":
    main()
