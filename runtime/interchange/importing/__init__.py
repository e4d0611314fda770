"""Imports models of other systems as diagrams, with their stops and what else they are."""

from runtime.interchange.importing.imported import Imported, Remark, UnsupportedError
from runtime.interchange.importing.process import import_model

__all__ = ["Imported", "Remark", "UnsupportedError", "import_model"]
