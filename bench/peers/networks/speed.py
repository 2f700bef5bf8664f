"""Networks side by side: TensorFlow, PyTorch, JAX and Plimsoll.

  python bench/peers/networks/speed.py conv28 resnet50:8 gpt2:1 --precision bf16

Each in a process of its own; they take turns, round by round, and the best
round counts. A step is one batch of the same shapes with the job's optimiser.
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


def row(name, rate, host, device):
    text = f"  {name:24}{rate:12.2f} examples/s{host / 1e6:10.0f} MB"
    return text + (f"{device / 1e6:10.0f} MB on the device" if device else "")


def compare(name, batch, arguments, precision):
    path = ROOT / "examples" / "models" / f"{name}.toml"
    if not path.exists():
        path = pathlib.Path(name)
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
    print(f"{name}, batch {batch}, {precision}, {arguments.device}")
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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("networks", nargs="+", metavar="NAME[:BATCH]")
    parser.add_argument("--ours", default="build/release/plimsoll")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32", help="as in f32,bf16")
    parser.add_argument("--peers", default="torch,jax,tensorflow")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    for network in arguments.networks:
        name, _, batch = network.partition(":")
        for precision in arguments.precision.split(","):
            compare(name, int(batch or 0), arguments, precision)


if __name__ == "__main__":
    main()
