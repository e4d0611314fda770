"""The tests with what is installed, without a network: ``suite.py ENVIRONMENT [ARGUMENT...]``.

They run in an environment that has a wheel with its extra ``dev``, started by ``python -P`` in a
folder of a user, where each module of the standard library and each of ours has a namesake that
must not be imported. Of the checkout only ``tests`` can be imported, from a copy; what tests read
beside it are copies of the installed files. Further arguments go to pytest.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READ = (
    "pyproject.toml", "README.md", "LICENSE", ".ci", ".github", ".pre-commit-hooks.yaml",
    "assets/notebooks", "assets/screenshots",
)  # fmt: skip
"""What tests read of the checkout besides themselves."""
OWN = ("app", "assets", "blocks", "gradwire", "runtime", "tests")
CLONE_NEWNET = 0x40000000
SET_FLAGS, IS_UP = 0x8914, 1
"""What Linux calls CLONE_NEWNET, SIOCSIFFLAGS and IFF_UP."""
WORKERS = os.cpu_count() or 1


def installed(python: Path) -> Path:
    """The folder of the installed package."""
    code = "import gradwire; print(gradwire.__path__[0])"
    done = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip())
    if ROOT in folder.parents:
        raise SystemExit(f"gradwire is not installed, but imported from the checkout: {folder}")
    return folder


def make_suite(folder: Path, package: Path, man: Path) -> None:
    """The tests, and beside them the installed files, where a checkout has them."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=leave)
    for floor in ("app", "assets", "blocks", "runtime"):
        shutil.copytree(package / floor, folder / floor, ignore=leave)
    (folder / "runtime" / "public").mkdir()
    (folder / "runtime" / "public" / "gradwire").symlink_to(package)
    (folder / "assets" / "man").symlink_to(man)
    for name in READ:
        (folder / name).symlink_to(ROOT / name)


def make_home(folder: Path) -> None:
    """A folder whose modules have the names of others."""
    folder.mkdir()
    for name in (*sys.stdlib_module_names, *OWN):
        (folder / f"{name}.py").write_text(f"raise ImportError('{name}.py of the user')\n")
    for name in OWN:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"raise ImportError('{name}/ of the user')\n")


def leave_network() -> None:
    """Have no network from now on but this machine itself, where the system allows it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        print(f"with a network: {os.strerror(ctypes.get_errno())}")
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        fcntl.ioctl(device, SET_FLAGS, struct.pack("16sh", b"lo", IS_UP))


def main() -> int:
    """The exit code of pytest."""
    python = Path(sys.argv[1]).absolute() / "bin" / "python"
    package = installed(python)
    leave_network()
    with tempfile.TemporaryDirectory(prefix="suite-") as scratch:
        suite, home = Path(scratch, "suite"), Path(scratch, "home")
        suite.mkdir()
        make_suite(suite, package, python.parents[1] / "share" / "man" / "man1")
        make_home(home)
        command = [
            python, "-P", "-m", "pytest", "-c", suite / "pyproject.toml", "--rootdir", suite,
            "-o", "addopts=-rs --strict-markers --strict-config --import-mode=importlib",
            "-m", "not checkout", "-p", "no:cacheprovider", "--dist=loadfile",
            f"--tx={WORKERS}*popen//python={python} -P", *sys.argv[2:], suite / "tests",
        ]  # fmt: skip
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GRADWIRE")}
        # Interpreters that tests start themselves have no -P.
        kept |= {"PYTHONPATH": str(suite), "PYTHONSAFEPATH": "1", "GRADWIRE_PLACE": str(package)}
        return subprocess.run(command, cwd=home, env=kept).returncode


if __name__ == "__main__":
    sys.exit(main())
