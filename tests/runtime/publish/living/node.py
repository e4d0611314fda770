"""Runs the page's script in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gradwire.runtime.publish.living.writing.html import EVERYTHING, Needs, engine_script
from gradwire.runtime.publish.living.writing.repeats import compacted

FOLDER = Path(__file__).parent
NODE = shutil.which("node") or shutil.which("nodejs")
SECONDS = 300


def run(folder: Path, script: str, work: object, needs: Needs = EVERYTHING) -> Any:
    """The JSON that ``script`` makes of ``work``, a function of one argument, after the engine."""
    assert NODE is not None
    program, given = folder / "script.js", folder / "work.json"
    program.write_text(
        engine_script(needs)
        + f"const work=JSON.parse(require('fs').readFileSync(process.argv[2],'utf8'));\n"
        f"console.log(JSON.stringify(({script})(work)));",
        encoding="utf-8",
    )
    given.write_text(json.dumps(work), encoding="utf-8")
    done = subprocess.run(
        [NODE, str(program), str(given)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def compared(folder: Path, work: dict[str, Any], needs: Needs = EVERYTHING) -> dict[str, Any]:
    """What differs between a page, with its data as it is in the file, and the runtime."""
    script = (FOLDER / "compare.js").read_text(encoding="utf-8")
    compares = f"({{data,cases}})=>{{{script}\nreturn compare({{data:restored(data),cases}})}}"
    written = {**work, "data": compacted(work["data"])}
    found: dict[str, Any] = run(folder, compares, written, needs)
    return found
