#!/usr/bin/env python3
"""Writes the fuzzers' first inputs: seeds/<fuzzer>/. Small files of each
format, whole and slightly odd. Where a fuzzer takes settings, the first byte
holds them.

usage: make_seeds.py        with Python's standard library alone
"""
import gzip
import json
import pathlib
import struct
import zlib

SEEDS = pathlib.Path(__file__).parent / "seeds"


def write(fuzzer, name, data, settings=None):
    folder = SEEDS / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    first = b"" if settings is None else bytes([settings])
    (folder / name).write_bytes(first + data)


def npy(header, data, version=1):
    text = header.encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def make_npy():
    form = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    write("npy", "f4", npy(form % ("<f4", "False", "(2, 3)"), bytes(24)))
    write("npy", "scalar", npy(form % ("<f8", "False", "()"), bytes(8)))
    write("npy", "version2", npy(form % ("|u1", "True", "(4,)"), bytes(4), 2))
    write("npy", "empty", npy(form % ("<i8", "False", "(0, 7)"), b""))
    write("npy", "records", npy(form % ("[('a', '<f4')]", "False", "(1,)"),
                                bytes(4)))


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def make_safetensors():
    write("safetensors", "two", safetensors(
        {"__metadata__": {"format": "pt"},
         "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
         "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}},
        bytes(24)))
    write("safetensors", "empty", safetensors({}, b""))
    write("safetensors", "zero", safetensors(
        {"z": {"dtype": "BF16", "shape": [0, 3], "data_offsets": [0, 0]}},
        b""))


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    turned = (crc >> 15 | crc << 17) & 0xffffffff
    return struct.pack("<I", (turned + 0xa282ead8) & 0xffffffff)


def tfrecord(*records):
    out = b""
    for record in records:
        length = struct.pack("<Q", len(record))
        out += length + masked(length) + record + masked(record)
    return out


def make_tfrecord():
    three = tfrecord(b"one", b"", b"three" * 10)
    write("tfrecord", "plain", three, 0b11111011)
    write("tfrecord", "small_window", three, 0b00010011)
    write("tfrecord", "unverified", three, 0b11111001)
    write("tfrecord", "as_it_is", three, 0b11111010)
    write("tfrecord", "gzip", gzip.compress(three, mtime=0), 0b11111110)
    write("tfrecord", "cut", three[:-3], 0b11111011)


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def entry(name, feature):
    return field(1, field(1, name) + field(2, feature))


def make_example():
    x = entry(b"x", field(2, field(1, struct.pack("<4f", 1, 2, 3, 4))))
    y = entry(b"y", field(3, field(1, varint(5) + varint(-1))))
    image = entry(b"image", field(1, field(1, b"ab") + field(1, b"")))
    none = entry(b"", field(3, field(1, varint(1))))
    singles = entry(b"y", field(3, b"\x08\x07\x08\x80\x01"))
    floats = entry(b"x", field(2, b"".join(
        b"\x0d" + struct.pack("<f", i) for i in range(4))))
    write("example", "packed", field(1, x + y + image + none), 0)
    write("example", "singles", field(1, none + floats + singles + image), 1)
    write("example", "twice", field(1, y + x) + field(1, y + image + none), 1)
    write("example", "unknown", field(1, entry(b"z", b"") + x + y + image
                                      + none) + field(9, b"z") + b"\x50\x01",
          1)


def make_gzip():
    text = b"some text, some more text, and the same text again\n" * 20
    write("gzip", "one", gzip.compress(text, mtime=0), 3)
    write("gzip", "two", gzip.compress(b"a", mtime=0)
          + gzip.compress(text, 1, mtime=0) + bytes(5), 0x7f)
    write("gzip", "stored", gzip.compress(text[:60], 0, mtime=0), 0)
    named = zlib.compressobj(wbits=-15)
    body = named.compress(b"abc") + named.flush()
    write("gzip", "named", b"\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0" + body
          + struct.pack("<II", zlib.crc32(b"abc"), 3), 1)
    write("gzip", "plain", text[:50], 5)


def make_lines():
    write("lines", "three", b"one\ntwo\r\n\nlast", 100)
    write("lines", "small_window", b"12345\n123456\n1234567\n", 3)


def make_csv():
    write("csv", "header", b"x,y,z\n1,2.5,a\n3,,\"b\nc\"\n", 0b01001010)
    write("csv", "quotes", b'"a ""b""";1;2\r\n"";3;4\r\n\r\nz;5;6', 0b01000110)
    write("csv", "declared", b"x,y,z\n1e3,text,7\n,\"q\",-2\n", 0b01010010)
    write("csv", "small_window", b"1,2\n3,4\n5,6\n7,8\n9,0\n", 0b00000001)
    write("csv", "ragged", b"1,2,3\n4\n5,6,7,8\n\"9\"x,1,2\n", 0b00100001)


if __name__ == "__main__":
    make_npy()
    make_safetensors()
    make_tfrecord()
    make_example()
    make_gzip()
    make_lines()
    make_csv()
