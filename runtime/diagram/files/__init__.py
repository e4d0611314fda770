"""Diagram files: reading, writing, tensors, the schema, migrations."""
