from gradwire.blocks.library.pages.page import (
    Composite as Composite,
    Page as Page,
    PageInput as PageInput,
    PageOutput as PageOutput,
)
from gradwire.blocks.library.pages.scan import Scan as Scan
