#!/usr/bin/env python3
"""All that only a GPU can show, in one call, with a dated report.

  make gpu-check [GPU_CHECK="ops memcheck"]

or, where the GPU's machine cannot build:

  scripts/gpu_check.py --pack built.tar.xz    here
  tar xf built.tar.xz && scripts/gpu_check.py --build built    there

ops        op records in all dtypes
programs   small networks, sessions and eager ops
jobs       whole jobs, as a user runs them (these three: ctest's label `gpu`)
memcheck   op records in f32 and bf16 under compute-sanitizer
forecasts  networks of examples/models: forecast and measured peaks
gradients  of the small networks, beside PyTorch, which must be installed
speed      ResNet-50 and GPT-2 in bf16 beside PyTorch, eager and compiled

Programs that use no exact figures of memory run side by side. The report is
build/gpu-check/report.md, the output of each program lies beside it.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
NOT_DONE = "SKIPPED"
# Name, batch, precision; as in the table of docs/0011.
NETWORKS = [
    ("resnet50", 256, "bf16"), ("gpt2", 16, "bf16"), ("gpt2", 16, "f16"),
    ("mobilenet_v2", 32, "bf16"), ("unet", 4, "bf16"), ("unet", 4, "f32"),
    ("vgg16", 32, "bf16"), ("bert_base", 8, "bf16"),
    ("lstm_forecaster", 64, "f32"), ("two_tower", 256, "f32"),
    ("conv28", 32, "f32"),
]
GPU_TESTS = ("networks_gpu_test", "small_models_gpu_test", "session_gpu_test",
             "eager_gpu_test")


class Check:
    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.report = folder / "report.md"
        self.report.write_text("")
        self.failed = []
        self.environment = os.environ | packed_libraries(build) | {
            "PLIMSOLL_CUDA_MODULE": str(build / "libplimsoll_cuda.so"),
            "PLIMSOLL_BINARY": str(build / "plimsoll"),
            "PLIMSOLL_EXAMPLES": str(ROOT / "examples"),
            "PLIMSOLL_NETWORKS": str(ROOT / "tests/train/networks"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def say(self, line, failed=False):
        print(line, flush=True)
        with self.report.open("a") as report:  # also of a run that is cut off
            report.write(line + "\n")
        if failed:
            self.failed.append(line)

    def start(self, name, command, **more):
        log = open(self.folder / f"{name}.log", "w", encoding="utf-8")
        return subprocess.Popen(
            [str(word) for word in command], stdout=log, cwd=ROOT,
            stderr=subprocess.STDOUT, env=self.environment | more)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def program(self, name):
        return next(self.build.glob(f"tests/*/{name}"))

    def shards(self, name, command, count):
        """A GoogleTest program in parts, side by side; one line of them."""
        started = time.monotonic()
        parts = [self.start(f"{name}-{i}", command,
                            GTEST_TOTAL_SHARDS=str(count),
                            GTEST_SHARD_INDEX=str(i)) for i in range(count)]
        bad = [i for i, part in enumerate(parts) if part.wait() != 0]
        tally = collections.Counter()
        for i in range(count):
            for word, number in re.findall(
                    r"^\[  (PASSED|SKIPPED|FAILED) +\] (\d+) tests?[.,]",
                    self.log(f"{name}-{i}"), re.MULTILINE):
                tally[word] += int(number)
            for test in re.findall(r"^\[  FAILED  \] (\S+/\S+|\S+\.\S+)",
                                   self.log(f"{name}-{i}"), re.MULTILINE):
                tally[f"failed: {test.rstrip(',')}"] = 1
        names = [word for word in tally if word.startswith("failed:")]
        self.say(f"- {name}: {tally['PASSED']} passed, {tally['FAILED']} "
                 f"failed, {tally[NOT_DONE]} skipped, "
                 f"{time.monotonic() - started:.0f} s"
                 + "".join(f"; {word}" for word in names)
                 + (f"; exit codes of parts {bad}" if bad else ""),
                 failed=bool(bad or names or not tally["PASSED"]))

    def ops(self):
        cores = os.cpu_count() or 1
        self.shards("ops_gpu_test", [self.program("ops_gpu_test")],
                    min(8, cores))

    def programs(self):
        # Figures of memory: one at a time.
        for name in GPU_TESTS:
            self.shards(name, [self.program(name)], 1)

    def jobs(self):
        name = "promises.gpu"
        started = time.monotonic()
        code = self.start(
            name, [sys.executable, ROOT / "tests/promises/gpu_test.py",
                   "-v"]).wait()
        end = [line for line in self.log(name).splitlines() if line][-1]
        self.say(f"- {name}: {end}, {time.monotonic() - started:.0f} s",
                 failed=code != 0)

    def memcheck(self):
        tool = shutil.which("compute-sanitizer") or \
            "/usr/local/cuda/bin/compute-sanitizer"
        self.shards("memcheck", [
            tool, "--tool", "memcheck", "--error-exitcode", "1",
            self.program("ops_gpu_test"),
            "--gtest_filter=*F32Agrees*:*Bf16Agrees*"],
            min(12, os.cpu_count() or 1))

    def forecasts(self):
        self.say("| network | batch | precision | host MiB, forecast and "
                 "measured | device MiB | pools apart, bytes | examples/s |")
        self.say("| --- | --- | --- | --- | --- | --- | --- |")
        for name, batch, precision in NETWORKS:
            with tempfile.TemporaryDirectory() as run:
                log = f"train-{name}-{precision}"
                code = self.start(log, [
                    self.build / "plimsoll", "train",
                    ROOT / f"examples/models/{name}.toml", "--device",
                    "cuda:0", "--precision", precision, "--batch", batch,
                    "--epochs", "1", "--quiet", "--run-dir", run, "--set",
                    f"data.source.examples={20 * batch}"]).wait()
                if code != 0:
                    self.say(f"| {name} | {batch} | {precision} | "
                             f"exit code {code}, see {log}.log | | | |", True)
                    continue
                said = json.loads((pathlib.Path(run) / "summary.json")
                                  .read_text())
            self.row(name, batch, precision, said)

    def row(self, name, batch, precision, said):
        forecast, measured = said["forecast"], said["measured"]
        host = forecast["host_peak"], measured["host_rss_peak"]
        device = forecast["device_peak"], measured["device_peak"]
        apart = [forecast[pool] - measured[pool]
                 for pool in ("host_ledger_peak", "device_ledger_peak")]
        held = (not any(apart)
                and all(real <= said <= 1.05 * real + 32 * MIB
                        for said, real in (host, device)))
        pair = "{:,.0f} / {:,.0f}"
        self.say(f"| {name} | {batch} | {precision} | "
                 f"{pair.format(*(b / MIB for b in host))} | "
                 f"{pair.format(*(b / MIB for b in device))} | "
                 f"{apart[0]}, {apart[1]} | "
                 f"{said['examples_per_second']:,.0f}"
                 f"{'' if held else ', NOT HELD'} |", failed=not held)

    def gradients(self):
        self.beside_torch("gradients", "compare_gradients.py", *sorted(
            (ROOT / "tests/train/networks").glob("*.toml")))

    def speed(self):
        self.beside_torch("speed", "speed.py", "gpt2:16", "resnet50:256",
                          "--precision", "bf16", "--peers", "torch",
                          "--rounds", "1")

    def beside_torch(self, name, program, *arguments):
        code = self.start(name, [
            sys.executable, ROOT / "bench/peers/networks" / program,
            *arguments, "--ours", self.build / "plimsoll", "--device",
            "cuda:0"]).wait()
        for line in self.log(name).splitlines():
            self.say(f"    {line}")
        if code != 0:
            self.say(f"- {name}: exit code {code}", failed=True)


def packed_libraries(build):
    """In front of those that are installed, if the build is a packed one."""
    if not (build / "lib").is_dir():
        return {}
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": ":".join(
        [str(build / "lib"), *([others] if others else [])])}


def pack(build, file):
    """Stripped programs, and the libraries that are not the system's own."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "built"
        copy_needed(build, folder)
        with tarfile.open(file, "w:xz") as archive:
            archive.add(folder, "built")


def copy_needed(build, folder):
    for name in ("plimsoll", "libplimsoll_cuda.so", "tests/ops/ops_gpu_test",
                 *(f"tests/train/{name}" for name in GPU_TESTS)):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "-o", target, build / name], check=True)
    (folder / "lib").mkdir(exist_ok=True)
    needed = output_of("ldd", *(str(build / name) for name in (
        "plimsoll", "tests/ops/ops_gpu_test")))
    for path in sorted(set(re.findall(r"=> (/\S+)", needed))):
        # The C library and the compiler's are those of the other machine.
        if not re.search(r"/(lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so|ld-)",
                         path):
            shutil.copy(path, folder / "lib")


def output_of(*command, **more):
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=False, cwd=ROOT,
                              env=os.environ | more).stdout.strip()
    except FileNotFoundError:
        return ""


def main():
    stages = ("ops", "programs", "jobs", "memcheck", "forecasts", "gradients",
              "speed")
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE",
                        help="of " + ", ".join(stages) + "; all")
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/release")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=ROOT / "build/gpu-check")
    parser.add_argument("--pack", type=pathlib.Path, metavar="FILE",
                        help="an archive of the programs; nothing is run")
    arguments = parser.parse_args()
    for stage in arguments.stages:
        if stage not in stages:
            parser.error(f"no stage {stage}: there are {', '.join(stages)}")
    build = arguments.build.resolve()
    if not (build / "plimsoll").exists():
        sys.exit(f"gpu-check: no program in {build}: make gpu-check builds it")
    if arguments.pack:
        return pack(build, arguments.pack)
    devices = json.loads(output_of(str(build / "plimsoll"), "devices", "--json",
                                   **packed_libraries(build)))["cuda"]
    if not devices["devices"]:
        sys.exit("gpu-check: needs a GPU: "
                 f"{devices['missing'] or 'this build has no CUDA module'}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    check = Check(build, arguments.folder)
    check.say(f"{datetime.date.today()}, {devices['devices'][0]['model']}, "
              f"{output_of('git', 'describe', '--always', '--dirty')}")
    for stage in arguments.stages or stages:
        check.say(f"\n**{stage}**\n")
        getattr(check, stage)()
    print(f"\ngpu-check: {len(check.failed)} failed"
          + "".join(f"\n  {line}" for line in check.failed))
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
