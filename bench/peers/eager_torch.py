"""PyTorch's eager ops, and a step of linear100 by hand."""

import os
import sys

import eager_worker


def main(threads):
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = threads
    import torch

    torch.set_num_threads(int(threads))
    torch.set_num_interop_threads(1)

    def make_step(outputs, with_bias):
        x, y, w = map(torch.from_numpy, eager_worker.make_step_data(outputs))
        weights = [w.requires_grad_()]
        if with_bias:
            weights.append(torch.zeros(outputs, requires_grad=True))

        def step():
            z = x @ weights[0]
            if with_bias:
                z = z + weights[1]
            loss = torch.mean(torch.square(z - y))
            gradients = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for weight, gradient in zip(weights, gradients):
                    weight -= eager_worker.RATE * gradient

        return step

    def set_up():
        a = torch.rand(32, 32)
        return {
            "add": lambda: a + a,
            "matmul": lambda: a @ a,
            "linear1": make_step(1, False),
            "linear10": make_step(10, True),
        }

    eager_worker.serve(torch.__version__, set_up)


if __name__ == "__main__":
    main(sys.argv[1])
