"""Installs the peers into a virtual environment: set_up.py [FOLDER]."""

import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".venv-peers")
    python = folder / "bin" / "python"
    done = folder / "peers-installed"
    wanted = "".join(p.read_text() for p in sorted(HERE.glob("require*.txt")))
    if done.exists() and done.read_text() == wanted:
        return
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "install", "-q"]
    subprocess.check_call(pip + ["-r", HERE / "requirements.txt"])
    torch = ["--no-deps", "-r", HERE / "requirements-torch.txt"]
    subprocess.check_call(pip + torch)
    subprocess.check_call([python, HERE / "torch_cpu_only.py"])
    done.write_text(wanted)


if __name__ == "__main__":
    main()
