"""Lets PyPI's torch run on the CPU without gigabytes of NVIDIA packages.

PyPI carries only the CUDA build for Linux. Its libraries name CUDA's as
needed, though nothing of them is called on a CPU. Empty stand-ins that answer
"no device" to every call are compiled into torch/lib, where torch looks
before the system.
"""

import importlib.util
import pathlib
import re
import subprocess
import tempfile

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
CUDA_SYMBOL = re.compile(r"_?_?(cu|nv|nccl)\w+$")
NO_DEVICE = 100  # cudaErrorNoDevice


def needed(library):
    text = subprocess.check_output(["readelf", "-dW", library], text=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def undefined(library):
    command = ["nm", "-D", "--undefined-only", library]
    text = subprocess.check_output(command, text=True)
    return [line.split()[-1] for line in text.splitlines()]


def version_owners(library):
    """Symbol versions by name, each with the library that must define it."""
    text = subprocess.check_output(["readelf", "-VW", library], text=True)
    owners, owner = {}, None
    for file, version in re.findall(r"File: (\S+)|Name: (\S+)  Flags", text):
        owner = file or owner
        if version:
            owners[version] = owner
    return owners


def compile_stub(path, versions, plain):
    lines = [".text"]
    for symbol in sorted(set().union(plain, *versions.values())):
        lines.append(f".globl {symbol}\n.type {symbol}, @function\n{symbol}:")
    lines.append(f"mov ${NO_DEVICE}, %eax\nret")
    lines.append('.section .note.GNU-stack,"",@progbits')
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "stub.s")
        source.write_text("\n".join(lines) + "\n")
        script = pathlib.Path(folder, "stub.map")
        script.write_text(
            "".join(
                f"{version} {{ global: {'; '.join(sorted(names))}; }};\n"
                for version, names in versions.items()
            )
        )
        command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{path.name}"]
        if versions:
            command.append(f"-Wl,--version-script={script}")
        subprocess.check_call(command + ["-o", path, source])


def main():
    torch = importlib.util.find_spec("torch")  # without importing it
    folder = pathlib.Path(torch.submodule_search_locations[0], "lib")
    ours = [p for p in folder.glob("lib*.so") if not CUDA_LIBRARY.match(p.name)]
    missing, symbols, owners = set(), set(), {}
    for library in ours:
        missing |= {n for n in needed(library) if CUDA_LIBRARY.match(n)}
        symbols |= set(undefined(library))
        owners |= version_owners(library)
    plain = {s for s in symbols if CUDA_SYMBOL.match(s)}
    # Which library holds an unversioned symbol does not matter to the loader.
    carrier = next((n for n in missing if n.startswith("libcufile")), None)
    for name in sorted(missing):
        versions = {}
        for symbol in symbols:
            base, _, version = symbol.partition("@")
            if version and owners.get(version) == name:
                versions.setdefault(version, set()).add(base)
        compile_stub(
            folder / name, versions, plain if name == carrier else set()
        )
    print(f"{len(missing)} CUDA libraries stubbed in {folder}")


if __name__ == "__main__":
    main()
