"""Pages: a diagram inside a block, run once or once per step."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.blocks.library.pages.page import Composite, Page, PageInput, PageOutput
    from gradwire.blocks.library.pages.scan import Scan

__all__ = ["Composite", "Page", "PageInput", "PageOutput", "Scan"]

__getattr__ = imported_on_use(
    __name__,
    {
        "page": "Composite Page PageInput PageOutput",
        "scan": "Scan",
    },
)
