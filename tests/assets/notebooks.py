"""Runs the notebooks, and writes what they print: ``python -m tests.assets.notebooks``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tests.assets.examples import ROOT

NOTEBOOKS = sorted((ROOT / "assets" / "notebooks").glob("*.ipynb"))
_SECONDS = 300
_FRAME = re.compile(r"<iframe.*</iframe>", re.DOTALL)


def executed(path: Path) -> Any:
    """A notebook with the outputs that its cells have now. Needs nbclient and ipykernel."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3")
    client.execute(env=os.environ | {"GRADWIRE_BARS": "0"})  # these depend on the time
    notebook.metadata = {"language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            output.pop("metadata", None) if output.output_type == "stream" else None
    return notebook


def outputs(notebook: Any) -> list[str]:
    """What is printed below each cell, without pages that compute."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            found.append(_FRAME.sub("", text))
    return found


def main() -> None:
    import nbformat

    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path)


if __name__ == "__main__":
    main()
