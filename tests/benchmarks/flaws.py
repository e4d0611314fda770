"""Times and memory for finding a flaw at the end of a file of 60 MB.

    python -m tests.benchmarks.flaws

Prints seconds of processor time, and the memory taken as a multiple of the file.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 60 * 2**20

PROBE = """
import sys, time
from gradwire.runtime.diagram import load
from gradwire.blocks.registry import registry
from gradwire.blocks.errors import FileError
from pathlib import Path

len(registry().classes)  # imports them
path = Path(sys.argv[1])
status = Path("/proc/self/status")

def field(name):
    return next(int(l.split()[1]) * 1024 for l in status.read_text().splitlines() if name in l)

Path("/proc/self/clear_refs").write_text("5")
before, began = field("VmRSS"), time.process_time()
try:
    load(path)
    said = "loaded"
except FileError as error:
    said = error.what
taken = (field("VmHWM") - before) / path.stat().st_size
print(f"{time.process_time() - began:6.2f} s  {taken:4.1f} x  {said}")
"""


def texts() -> dict[str, tuple[str, str, str]]:
    """By name the beginning, what is repeated up to the size, and the end of a text."""
    source = random.Random(1)
    numbers = ", ".join(f"{source.random():.12g}" for _ in range(1000))
    array = '{"gradwire": 3, "pages": {"main": {"blocks": {"a": {"type": "Constant", "value": ['
    title = '{"gradwire": 3, "title": "'
    return {
        "a key twice": (array, numbers + ", ", '1]}, "b": {"type": "Sin", "type": "Sin"}}}}}'),
        "NaN": (array, numbers + ", ", "NaN]}}}}}"),
        "1e999": (array, numbers + ", ", "1e999]}}}}}"),
        "no comma": (array, numbers + ", ", "1 1]}}}}}"),
        "no type": (array, numbers + ", ", '1]}, "b": {}}}}}'),
        "an unknown field": (array, numbers + ", ", '1]}}, "nope": 1}}}'),
        "no end of a string": (title, "x", ""),
        "no pages": (title, "x", '", "pages": 3}'),
        "backslashes": (title, "\\\\", '", "pages": 3}'),
        "brackets": ("", "[", ""),
        "empty lists": ('{"gradwire": 3, "pages": [', "[],", "[]]}"),
    }


def main() -> None:
    """Write each text, have a process of its own load it, and print what that took."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (begin, middle, end) in texts().items():
            path = Path(folder) / "flaw.gradwire.json"
            path.write_text(begin + middle * (SIZE // len(middle)) + end, encoding="utf-8")
            command = [sys.executable, "-c", PROBE, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            print(f"{name:20}{done.stdout.strip()}")


if __name__ == "__main__":
    main()
