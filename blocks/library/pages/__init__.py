"""Pages: a diagram inside a block, run once or once per step."""

from blocks.library.pages.page import Composite, Page, PageInput, PageOutput
from blocks.library.pages.scan import Scan

__all__ = ["Composite", "Page", "PageInput", "PageOutput", "Scan"]
