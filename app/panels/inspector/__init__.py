"""The inspector: forms for the selected block and for the diagram."""
