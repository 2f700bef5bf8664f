"""Networks side by side: TensorFlow, PyTorch, JAX and Plimsoll.

  python bench/peers/networks/speed.py conv28 resnet50:8 gpt2:1x256

Each in a process of its own; they take turns, round by round, and the best
round counts. A step is one batch of the same shapes with the job's optimiser.
On the CPU, where our step goes follows, beside the machine's limits.
"""

import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.insert(0, str(HERE.parent))
from job import Job  # noqa: E402
from run import Worker  # noqa: E402


class Peer(Worker):
    def __init__(self, framework, variant, path, arguments, precision, batch):
        more = (precision, arguments.device, str(batch))
        super().__init__(
            framework, variant, str(path), arguments.threads,
            "networks/train", more,
        )


def peers_of(name, arguments, path, precision, batch):
    module = importlib.import_module(f"train_{name}")
    for variant in module.VARIANTS:
        yield Peer(name, variant, path, arguments, precision, batch)


def ours(arguments, path, precision, batch, steps):
    """Examples a second and the peaks, host and device."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            arguments.ours, "train", path, "--run-dir", folder, "--quiet",
            "--device", arguments.device, "--precision", precision,
            "--batch", str(batch), "--epochs", "1",
            "--set", f"data.source.examples={batch * steps}",
        ]
        if arguments.device == "cpu":
            command += ["--threads", str(arguments.threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        said = json.loads((pathlib.Path(folder) / "summary.json").read_text())
    return said["examples_per_second"], said["measured"]


def limits(arguments, path, precision, batch):
    """Our step by ops, and what the machine could do at the time."""
    program = pathlib.Path(arguments.ours).parent / "bench" / "bench_network"
    if arguments.device == "cpu" and program.exists():
        subprocess.run(
            [program, path, "--precision", precision, "--batch", str(batch),
             "--threads", str(arguments.threads)],
            check=True,
        )


def with_tokens(path, tokens, folder):
    """The same job over shorter sequences."""
    text = path.read_text()
    length = Job(path).input[0]
    short = pathlib.Path(folder) / f"{path.stem}.toml"
    for key in ("input", "features", "shape"):
        text = text.replace(f"{key} = [{length}]", f"{key} = [{tokens}]")
    short.write_text(text)
    return short


def row(name, rate, host, device):
    text = f"  {name:24}{rate:12.2f} examples/s{host / 1e6:10.0f} MB"
    return text + (f"{device / 1e6:10.0f} MB on the device" if device else "")


def path_of(name):
    path = ROOT / "examples" / "models" / f"{name}.toml"
    return path if path.exists() else pathlib.Path(name)


def compare(path, batch, arguments, precision):
    batch = batch or Job(path).train.get("batch", 32)
    rate, measured = ours(arguments, path, precision, batch, 3)
    steps = max(3, int(rate * arguments.seconds / batch))
    peers = []
    for framework in arguments.peers.split(","):
        if framework:
            peers += peers_of(framework, arguments, path, precision, batch)
    rates = []
    for _ in range(arguments.rounds):
        rate, measured = ours(arguments, path, precision, batch, steps)
        rates.append(rate)
        for peer in peers:
            peer.measure(arguments.seconds)
    for peer in peers:
        peer.stop()
    size = "x".join(map(str, [batch, *Job(path).input]))
    print(f"{path.stem}, {size}, {precision}, {arguments.device}")
    print(row("plimsoll", max(rates), measured["host_rss_peak"],
              measured["device_peak"]))
    for peer in peers:
        said = f"{peer.framework} {peer.variant}"
        if peer.error:
            print(f"  {said:24}{'-':>12}  {peer.error}")
            continue
        last = peer.rounds[-1]
        print(row(said, peer.best(), last["rss_peak_bytes"],
                  last["device_peak_bytes"]))
    sys.stdout.flush()
    limits(arguments, path, precision, batch)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("networks", nargs="+", metavar="NAME[:BATCH[xTOKENS]]")
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32", help="as in f32,bf16")
    parser.add_argument("--peers", default="torch,jax,tensorflow")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    for network in arguments.networks:
        name, _, size = network.partition(":")
        batch, _, tokens = size.partition("x")
        with tempfile.TemporaryDirectory() as folder:
            path = path_of(name)
            if tokens:
                path = with_tokens(path, int(tokens), folder)
            for precision in arguments.precision.split(","):
                compare(path, int(batch or 0), arguments, precision)


if __name__ == "__main__":
    main()
