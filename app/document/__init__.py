"""The open diagram: its file, its history, and where in it the window is."""
