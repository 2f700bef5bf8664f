"""What cannot fit is refused with a first remedy that makes it fit."""
import os
import random
import time

from harness import (SANITIZED, JobTest, dense, job_text, main, random_source,
                     small_job, split, stages)

JOBS = 100
TRAINED = 10


def random_job(dice):
    """A job of any shape, small enough to be planned at once."""
    features = dice.choice([4, 50, 300, 1000])
    job = small_job(dice.choice([50, 1000, 33333]), features)
    layers = []
    for _ in range(dice.randint(0, 5)):
        layers.append(dense(dice.choice([1, 17, 128, 700, 2000]),
                            dice.choice(["relu", "gelu", "tanh", "linear"])))
        if dice.random() < 0.3:
            layers.append({"type": "dropout", "rate": 0.25})
    kind = dice.choice(["binary", "uniform", "classes"])
    source = job["data"]["source"]
    if kind == "binary":
        layers.append(dense(1, "sigmoid"))
    elif kind == "uniform":
        source["labels"] = {"type": "uniform", "shape": [7]}
        layers.append(dense(7))
        job["train"]["loss"] = dice.choice(["mean_squared_error",
                                            "mean_absolute_error"])
    else:
        source["labels"] = {"type": "classes", "count": 12}
        layers.append(dense(12, "softmax"))
        job["train"]["loss"] = "sparse_categorical_crossentropy"
    job["model"]["layers"] = layers
    job["data"]["residency"] = dice.choice(["stream", "memory"])
    job["data"]["pipeline"] = dice.choice([
        stages("batch"), stages("shuffle", "batch"),
        stages("batch", "prefetch", batches=dice.randint(1, 8)),
        stages("shuffle", "batch", "prefetch", batches=dice.randint(1, 8))])
    if dice.random() < 0.3:
        job["data"]["validation"] = random_source(
            dice.choice([7, 2000]), [features], source["labels"])
    job["train"] |= {
        "batch": dice.choice([1, 2, 32, 100, 1024, 10000]),
        "precision": dice.choice(["f32", "f32", "f64", "bf16", "f16"]),
        "optimizer": dice.choice([
            {"type": "sgd"}, {"type": "sgd", "momentum": 0.9},
            {"type": "adam"}, {"type": "adamw", "learning_rate": 0.01}])}
    return job


def random_budget(dice, floor, peak):
    """Between what any job needs and this one's peak, now and then below."""
    if dice.random() < 0.1 or peak <= floor:
        return dice.randint(1, min(floor, peak - 1))
    return dice.randint(floor, peak - 1)


class Remedies(JobTest):
    def check(self, path, budget):
        """The first remedy's arguments, seen to help."""
        limit = ("--host-memory", f"{budget}B")
        code, plan = self.plan(path, *limit)
        self.assertEqual(code, 3)
        self.assertIs(plan["fits"], False)
        self.assertTrue(plan["refusal"])
        self.assertEqual(plan["first_to_exhaust"], "host")
        self.assertGreater(plan["host"]["peak"], budget)
        applies = [remedy["apply"] for remedy in plan["remedies"]]
        self.assertTrue(applies, plan["refusal"])
        keeps = ["--host-memory" not in apply for apply in applies if apply]
        self.assertEqual(keeps[0], any(keeps), applies)
        first = split(applies[0])
        code, after = self.plan(path, *limit, *first)
        self.assertEqual(code, 0, f"{applies[0]}: {after['refusal']}")
        self.assertIs(after["fits"], True)
        if keeps[0]:
            self.assertEqual(after["host"]["budget"], budget)
            self.assertEqual(plan["host"]["peak"] - after["host"]["peak"],
                             plan["remedies"][0]["host_bytes_saved"])
        return first

    def test_the_first_makes_a_hundred_jobs_fit(self):
        seed = int(os.environ.get("PLIMSOLL_SEED", time.time_ns() % 10**6))
        print(f"seed {seed}")
        dice = random.Random(seed)
        _, least = self.plan(self.write_job(small_job()))
        floor = least["host"]["peak"]
        kept = 0
        jobs = 10 if SANITIZED else JOBS
        for number in range(jobs):
            job = random_job(dice)
            trained_too = number < TRAINED and not SANITIZED
            if trained_too:
                job["data"]["source"]["examples"] = 50
            path = self.write_job(job)
            code, plan = self.plan(path, "--host-memory", "100%")
            self.assertEqual(code, 0, plan["refusal"])
            budget = random_budget(dice, floor, plan["host"]["peak"])
            with self.subTest(seed=seed, job=number, budget=budget,
                              text=job_text(job)):
                remedy = self.check(path, budget)
                kept += "--host-memory" not in remedy
                if not trained_too:
                    continue
                limited = ("--host-memory", f"{budget}B", *remedy)
                _, fitted = self.plan(path, *limited)
                trained = self.train(path, *limited)
                self.assertLessEqual(trained.watched["peak_bytes"],
                                     fitted["host"]["budget"])
        print(f"{kept} of {jobs} first remedies keep the budget")

    def test_on_a_device_the_first_makes_both_memories_fit(self):
        seed = int(os.environ.get("PLIMSOLL_SEED", time.time_ns() % 10**6))
        print(f"seed {seed}")
        dice = random.Random(seed)
        device = ("--device-profile", "t4")
        _, least = self.plan(self.write_job(small_job()), *device,
                             "--host-memory", "100%")
        for number in range(5 if SANITIZED else JOBS // 2):
            job = random_job(dice)
            path = self.write_job(job)
            _, plan = self.plan(path, *device, "--host-memory", "100%")
            limit = list(device)
            for space in ("host", "device"):
                peak = plan[space]["peak"]
                if dice.random() < 0.7:
                    peak = random_budget(dice, least[space]["peak"], peak)
                limit += [f"--{space}-memory", f"{peak}B"]
            code, plan = self.plan(path, *limit)
            if code == 0:
                continue
            with self.subTest(seed=seed, job=number, limit=limit,
                              text=job_text(job)):
                applies = [remedy["apply"] for remedy in plan["remedies"]]
                self.assertTrue(applies, plan["refusal"])
                code, after = self.plan(path, *limit, *split(applies[0]))
                self.assertEqual(code, 0, f"{applies[0]}: {after['refusal']}")
                keeps = ["-memory" not in apply for apply in applies if apply]
                self.assertEqual(keeps[0], any(keeps), applies)


if __name__ == "__main__":
    main()
