"""Source code from a diagram: what it computes, its gradients and the step of its optimisers."""

from runtime.interchange.export.source import TARGETS, Exported, export_source

__all__ = ["TARGETS", "Exported", "export_source"]
