"""PyTorch: compiled or eager, fused or foreach Adam, preloaded batches."""

import itertools
import os
import sys

import common

# With two threads torch's barriers can cost more than the work: each way of
# running is tried on one thread as well.
WAYS = ("compiled_step", "compiled_model", "eager_fused", "eager_foreach")
VARIANTS = WAYS + tuple(way + "_1" for way in WAYS)


def main(job, variant, threads):
    if variant.endswith("_1"):
        variant, threads = variant[:-2], 1
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["MKL_NUM_THREADS"] = str(threads)
    import torch
    from torch import nn

    import_rss = common.rss_bytes()
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    binary = common.JOBS[job]["loss"] == "binary"

    def make_model():
        values = common.make_parameters(job)
        layers = []
        for kernel, bias in zip(values[::2], values[1::2]):
            layer = nn.Linear(*kernel.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(kernel.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def set_up():
        model = make_model()
        loss_of = (
            nn.functional.binary_cross_entropy_with_logits
            if binary
            else nn.functional.mse_loss
        )
        # Compiled, the plain update is one kernel. A tensor rate keeps it from
        # being compiled anew at every step.
        rate = common.ADAM["learning_rate"]
        compiled_step = variant == "compiled_step"
        optimizer = torch.optim.Adam(
            model.parameters(),
            lr=torch.tensor(rate) if compiled_step else rate,
            eps=common.ADAM["epsilon"],
            fused=variant in ("compiled_model", "eager_fused"),
            foreach=variant == "eager_foreach",
        )

        def forward(x, y):
            return loss_of(model(x), y)

        if variant.startswith("compiled"):
            forward = torch.compile(forward)
        update = optimizer.step
        if compiled_step:
            update = torch.compile(optimizer.step)

        features, labels = (torch.from_numpy(a) for a in common.make_data(job))
        batches = list(zip(features.unbind(0), labels.unbind(0)))
        parts = [batches[i : i + 512] for i in range(0, len(batches), 512)]
        turn = itertools.cycle(parts)

        def run():
            part = next(turn)
            for x, y in part:
                loss = forward(x, y)
                loss.backward()
                update()
                optimizer.zero_grad(set_to_none=True)
            return len(part) * common.BATCH, float(loss)

        return run

    common.serve({"torch": torch.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
