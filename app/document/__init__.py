"""The open diagram: its file, its history, and the page a window shows."""
