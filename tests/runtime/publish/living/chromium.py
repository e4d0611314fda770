"""Runs a page in headless Chromium and reads what a second script of it found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

from gradwire.runtime.publish.living.writing.html import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 240
_COMPARE = (Path(__file__).parent / "compare.js").read_text(encoding="utf-8")
_RESULT = re.compile(r'<pre id="result">(.*?)</pre>', re.DOTALL)


def compared(folder: Path, work: dict[str, Any]) -> dict[str, Any]:
    """What differs between a page and the runtime, in the browser."""
    cases = json.dumps(work["cases"]).replace("</", "<\\/")
    script = (
        f"{{{_COMPARE}\nconst written=document.getElementById('data').textContent;"
        "const data=restored(JSON.parse(written));"
        f"const result=document.createElement('pre');result.id='result';"
        f"result.textContent=JSON.stringify(compare({{data,cases:{cases}}}));"
        "document.body.append(result)}"
    )
    file = folder / "page.html"
    file.write_text(page(work["data"], "", script), encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=60000", "--dump-dom",
         file.as_uri()],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    found = _RESULT.search(done.stdout)
    assert found, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(unescape(found[1]))
    return result
