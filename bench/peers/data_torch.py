"""PyTorch: a DataLoader that asks its data set for whole batches."""

import os
import sys

import common
import data_common as data

# Workers are processes: what they save in time, handing over may cost again.
WORKERS = ("0_workers", "1_worker", "2_workers")
VARIANTS = {
    "memory": WORKERS,
    "npy": WORKERS,
    "resize": WORKERS,
    "jpeg": ("2_workers", "0_workers"),
}


class Rows:
    def __init__(self, *arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, numbers):
        return [array[numbers] for array in self.arrays]


class MappedRows(Rows):
    """Of a mapped file: NumPy gathers a whole batch in one call."""

    def __init__(self, path):
        import numpy as np

        super().__init__(np.load(path, mmap_mode="r"))

    def __getitem__(self, numbers):
        import torch

        return torch.from_numpy(self.arrays[0][numbers.numpy()])


class Enlarged(Rows):
    def __getitem__(self, numbers):
        from torch.nn.functional import interpolate

        size = (data.LARGE_SIDE, data.LARGE_SIDE)
        images = self.arrays[0][numbers]
        return interpolate(images, size, mode="bilinear", align_corners=False)


class Jpegs:
    """One file each: the DataLoader stacks them."""

    def __init__(self, folder):
        self.paths = sorted(data.jpeg_folder(folder).glob("*/*.jpg"))
        names = sorted({path.parent.name for path in self.paths})
        self.labels = [names.index(path.parent.name) for path in self.paths]
        try:
            import torchvision

            self.read = self.read_torchvision
        except ImportError:
            import PIL.Image

            self.read = self.read_pil

    def __len__(self):
        return len(self.paths)

    def read_torchvision(self, path):
        import torchvision
        from torch.nn.functional import interpolate

        image = torchvision.io.read_image(str(path))[None].float()
        size = (data.JPEG_SIDE, data.JPEG_SIDE)
        return interpolate(image, size, mode="bilinear", align_corners=False)[0]

    def read_pil(self, path):
        import numpy as np
        import PIL.Image
        import torch

        with PIL.Image.open(path) as image:
            size = (data.JPEG_SIDE, data.JPEG_SIDE)
            small = image.convert("RGB").resize(size, PIL.Image.BILINEAR)
            return torch.from_numpy(np.array(small)).float()

    def __getitem__(self, number):
        return self.read(self.paths[number]), self.labels[number]


class Batches:
    """Batches of numbers, in random order or not, each a tensor."""

    def __init__(self, count, shuffled):
        self.count, self.shuffled = count, shuffled

    def __len__(self):
        return self.count // data.BATCH

    def __iter__(self):
        import torch

        make = torch.randperm if self.shuffled else torch.arange
        return iter(make(self.count).split(data.BATCH))


def data_set(torch, case, folder):
    if case == "memory":
        labels = torch.arange(data.ROWS, dtype=torch.int32) % 10
        return Rows(torch.rand(data.ROWS, data.VALUES), labels)
    if case == "npy":
        return MappedRows(data.npy_path(folder))
    if case == "resize":
        return Enlarged(torch.rand(data.IMAGES, 1, data.SIDE, data.SIDE))
    return Jpegs(folder)


def main(case, variant, threads, folder):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch

    import_rss = common.rss_bytes()
    torch.set_num_threads(threads)

    def set_up():
        rows = data_set(torch, case, folder)
        workers = int(variant[0])
        how = {"num_workers": workers, "persistent_workers": workers > 0}
        if workers:
            how["prefetch_factor"] = 4
        if case == "jpeg":
            how.update(batch_size=data.BATCH, drop_last=True)
        else:
            shuffled = case != "resize"
            how.update(batch_size=None, sampler=Batches(len(rows), shuffled))
        loader = torch.utils.data.DataLoader(rows, **how)

        def epochs():
            while True:
                yield from loader

        batches = epochs()

        def run():
            next(batches)
            return data.BATCH, 0.0

        return run

    common.serve({"torch": torch.__version__}, import_rss, set_up)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
