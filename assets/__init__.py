"""Data files of Gradwire, read through ``importlib.resources.files("gradwire.assets")``."""
