"""The manual inside the editor."""
