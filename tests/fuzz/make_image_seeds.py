#!/usr/bin/env python3
"""Writes the first inputs of the tar, npz and png fuzzers: seeds/<fuzzer>/.
Those of the jpeg fuzzer are small files of libjpeg's: grey, colour with
halved chroma, progressive, in several scans.

usage: make_image_seeds.py        with Python's standard library alone
"""
import io
import pathlib
import struct
import tarfile
import zipfile
import zlib

SEEDS = pathlib.Path(__file__).parent / "seeds"


def write(fuzzer, name, data):
    folder = SEEDS / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def packed(data):
    """Runs of zeros as (0, count - 1): see tar_fuzz.cpp."""
    out, i = bytearray(), 0
    while i < len(data):
        run = 0
        while i + run < len(data) and data[i + run] == 0 and run < 256:
            run += 1
        if run:
            out += bytes([0, run - 1])
            i += run
        else:
            out.append(data[i])
            i += 1
    return bytes(out)


def tar(form, names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in names:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()[:8192]


def make_tar():
    pair = [("a.jpg", b"xyz"), ("a.cls", b"1"), ("b.cls", b"")]
    long_name = [("n" * 120 + ".x", b"q")]
    for number, form in enumerate((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT,
                                   tarfile.PAX_FORMAT)):
        for settings in (0, 1, 3):
            write("tar", f"pair{number}{settings}",
                  bytes([settings]) + packed(tar(form, pair)))
        if form != tarfile.USTAR_FORMAT:
            write("tar", f"long{number}",
                  bytes([1]) + packed(tar(form, long_name)))


def npy(data):
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n" \
        % len(data)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def make_npz():
    for name, method in (("stored", zipfile.ZIP_STORED),
                         ("deflated", zipfile.ZIP_DEFLATED)):
        for force in (False, True):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                with archive.open("x.npy", "w", force_zip64=force) as entry:
                    entry.write(npy(bytes(range(40))))
            write("npz", name + ("64" if force else ""), out.getvalue())


def chunk(name, data):
    body = name + data
    return struct.pack(">I", len(data)) + body + struct.pack(
        ">I", zlib.crc32(body))


def png(width, height, bits, kind, interlaced, rows, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0,
                         interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make_png():
    def rows(width_bytes, height):
        return b"".join(bytes([y % 5]) + bytes(range(width_bytes))
                        for y in range(height))
    palette = chunk(b"PLTE", bytes(range(12)))
    alpha = chunk(b"tRNS", b"\x00\x80")
    for settings in (0, 64, 66):
        first = bytes([settings])
        write("png", f"grey{settings}",
              first + png(7, 5, 8, 0, 0, rows(7, 5)))
        write("png", f"rgb{settings}",
              first + png(4, 3, 8, 2, 0, rows(12, 3)))
        write("png", f"rgba16{settings}",
              first + png(2, 3, 16, 6, 0, rows(16, 3)))
        write("png", f"palette{settings}",
              first + png(9, 2, 2, 3, 0, rows(3, 2), palette + alpha))
        # One pixel has but one pass.
        write("png", f"interlaced{settings}",
              first + png(1, 1, 8, 0, 1, rows(1, 1)))


make_tar()
make_npz()
make_png()
