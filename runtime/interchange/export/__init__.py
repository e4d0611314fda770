"""A diagram for other systems: source of its values, gradients and recipe, or a model of values."""

from runtime.interchange.export.files import ENDINGS, exported_files
from runtime.interchange.export.source import TARGETS, Exported, export_source

__all__ = ["ENDINGS", "TARGETS", "Exported", "export_source", "exported_files"]
