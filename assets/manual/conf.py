"""Makes the manual a site: ``sphinx-build assets/manual build/site``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Gradwire"
author = "Gradwire contributors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
html_theme = "furo"
html_title = f"Gradwire {version}"
html_favicon = "../icons/gradwire.svg"
html_extra_path = ["../diagrams"]
html_copy_source = False
myst_heading_anchors = 3
myst_url_schemes = {
    "https": None,
    "example": {"url": "{{path}}.gradwire.json", "title": "{{path}}"},
}
autodoc_typehints = "signature"
autodoc_member_order = "bysource"


def chapters(index: str) -> str:
    """Sphinx's tables of contents, from the pages that the index lists chapter by chapter."""
    made = []
    for title, links in re.findall(r"^## (.+)\n\n((?:- .+\n)+)", index, re.MULTILINE):
        pages = re.findall(r"\]\((.+)\.md\)", links)
        pages += ["reference"] if title == "Reference" else []
        entries = "\n".join(pages)
        made.append(f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n")
    return "\n".join(made)


def add_chapters(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the index its tables of contents, which the editor reads off the same lists."""
    if name == app.config.root_doc:
        source[0] += "\n" + chapters(source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_chapters)
