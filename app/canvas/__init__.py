"""The painted canvas: a page of a diagram with its values and the lanes of its gradient."""

from app.canvas.reading import Reading
from app.canvas.view import BLOCK_MIME, CanvasView

__all__ = ["BLOCK_MIME", "CanvasView", "Reading"]
