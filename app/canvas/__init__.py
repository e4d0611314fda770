"""The painted canvas: a page of a diagram with its values and the lanes of its gradient."""

from app.canvas.input.dropping import BLOCK_MIME, PAGE_MIME
from app.canvas.view import CanvasView

__all__ = ["BLOCK_MIME", "PAGE_MIME", "CanvasView"]
