"""PyTorch on a GPU: batches of 32 from host memory, in a shuffled order.

The variant `graph` replays one recorded step with a fused Adam over pinned
batches in their own order: the fastest there is, without a shuffle.
"""

import sys

import common

VARIANTS = ("eager", "compiled", "graph")


def main(job, variant):
    import torch
    from torch import nn

    import_rss = common.rss_bytes()
    device = torch.device("cuda:0")
    binary = common.JOBS[job]["loss"] == "binary"
    loss_of = (
        nn.functional.binary_cross_entropy_with_logits
        if binary
        else nn.functional.mse_loss
    )

    def make_model():
        layers = []
        values = common.make_parameters(job)
        for kernel, bias in zip(values[::2], values[1::2]):
            layer = nn.Linear(*kernel.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(kernel.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers[:-1]).to(device)

    def set_up():
        model = make_model()
        features, labels = (
            torch.from_numpy(a).flatten(0, 1) for a in common.make_data(job)
        )
        optimizer = torch.optim.Adam(
            model.parameters(),
            lr=common.ADAM["learning_rate"],
            eps=common.ADAM["epsilon"],
            fused=variant == "graph",
            capturable=variant == "graph",
        )

        def step(x, y):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        if variant == "graph":
            return replay(step, features, labels)
        do = torch.compile(step) if variant == "compiled" else step

        def run():
            order = torch.randperm(len(features))
            for start in range(0, 512 * common.BATCH, common.BATCH):
                chosen = order[start : start + common.BATCH]
                x, y = (
                    part[chosen].pin_memory().to(device, non_blocking=True)
                    for part in (features, labels)
                )
                loss = do(x, y)
            torch.cuda.synchronize()
            return 512 * common.BATCH, float(loss)

        return run

    def replay(step, features, labels):
        pinned = [
            (x.pin_memory(), y.pin_memory())
            for x, y in zip(
                features.split(common.BATCH)[:64],
                labels.split(common.BATCH)[:64],
            )
        ]
        x, y = (part.to(device) for part in pinned[0])
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            for _ in range(3):
                step(x, y)
        torch.cuda.current_stream().wait_stream(warm)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step(x, y)

        def run():
            for _ in range(32):
                for from_x, from_y in pinned:
                    x.copy_(from_x, non_blocking=True)
                    y.copy_(from_y, non_blocking=True)
                    graph.replay()
            torch.cuda.synchronize()
            return 32 * len(pinned) * common.BATCH, float(loss)

        return run

    common.serve({"torch": torch.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
