"""What views show on published pages: pictures of the numbers that the file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.engine import Session
from gradwire.runtime.views.views import Views

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.views.pictures import Picture


def shown_views(diagram: Diagram) -> dict[InstancePath, Picture]:
    """The pictures of a diagram's views, by path; none if nothing can be run."""
    pages = diagram.pages.values()
    if not any(isinstance(block, ViewBlock) for page in pages for block in page.blocks.values()):
        return {}
    try:
        session = Session(diagram, partial=True)
        return Views().pictures(diagram, session.program, session.run().values)
    except GradwireError:
        return {}
