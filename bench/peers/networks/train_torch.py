"""PyTorch on a job's network: one batch, again and again.

  train_torch.py JOB VARIANT THREADS PRECISION DEVICE BATCH
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402
from job import Job, make_data  # noqa: E402
from start_values import Maker  # noqa: E402

VARIANTS = ("eager", "compiled")


def optimizer_of(torch, job, parameters, device):
    spec = job.train.get("optimizer", {"type": "adam"})
    more = {"fused": True}
    if spec["type"] == "sgd":
        return torch.optim.SGD(
            parameters,
            lr=spec.get("learning_rate", 0.01),
            momentum=spec.get("momentum", 0),
            **more,
        )
    kind = torch.optim.AdamW if spec["type"] == "adamw" else torch.optim.Adam
    if spec["type"] == "adamw":
        more["weight_decay"] = spec.get("weight_decay", 0.004)
    return kind(
        parameters,
        lr=spec.get("learning_rate", 0.001),
        betas=(spec.get("beta_1", 0.9), spec.get("beta_2", 0.999)),
        eps=spec.get("epsilon", 1e-7),
        **more,
    )


def main(path, variant, threads, precision, device, batch):
    os.environ["OMP_NUM_THREADS"] = threads
    os.environ["MKL_NUM_THREADS"] = threads
    import torch

    from torch_network import Network

    import_rss = common.rss_bytes()
    torch.set_num_threads(int(threads))
    job, batch = Job(path), int(batch)
    compute = torch.bfloat16 if precision == "bf16" else torch.float32

    def set_up():
        features, labels = (
            torch.from_numpy(array) for array in make_data(job, batch)
        )
        network = Network(job, make=Maker())
        with torch.no_grad():
            network(features[:1])
        network.to(device)
        network.values = {
            name: getattr(network, name.replace(".", "_"))
            for name in network.values
        }
        features, labels = features.to(device), labels.to(device)
        optimizer = optimizer_of(torch, job, network.parameters(), device)

        def forward(x, y):
            with torch.autocast(
                torch.device(device).type, compute,
                enabled=compute != torch.float32,
            ):
                return network.loss(x, y)

        if variant == "compiled":
            forward = torch.compile(forward)
        if device != "cpu":
            torch.backends.cudnn.benchmark = True

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = forward(features, labels)
            loss.backward()
            optimizer.step()
            return loss

        def run():
            steps = 1 if device == "cpu" else 10
            for _ in range(steps):
                loss = step()
            value = float(loss.detach())
            if device != "cpu":
                run.device_peak = torch.cuda.max_memory_reserved()
            return steps * batch, value

        return run

    common.serve({"torch": torch.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(*sys.argv[1:])
