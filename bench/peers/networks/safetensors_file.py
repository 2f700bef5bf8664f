"""safetensors files, the format of Plimsoll's checkpoints."""

import json
import pathlib
import struct

import numpy as np

DTYPES = {
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "I32": np.int32,
    "I64": np.int64,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def read(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    values = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in DTYPES:
            continue
        begin, end = (8 + length + at for at in entry["data_offsets"])
        values[name] = np.frombuffer(
            data[begin:end], DTYPES[entry["dtype"]]
        ).reshape(entry["shape"])
    return values


def replace(path, values):
    """Other values for tensors of a file, in f32 as they are there; what they
    were not given stays."""
    path = pathlib.Path(path)
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    for name, value in values.items():
        begin, end = (8 + length + at for at in header[name]["data_offsets"])
        made = np.ascontiguousarray(value, np.float32).tobytes()
        if len(made) != end - begin:
            raise ValueError(f"{path}: {name} has another size")
        data[begin:end] = made
    path.write_bytes(data)


def write(path, values):
    header, parts, at = {}, [], 0
    for name, value in values.items():
        part = np.ascontiguousarray(value).tobytes()
        header[name] = {
            "dtype": NAMES[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [at, at + len(part)],
        }
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(parts)
    )
