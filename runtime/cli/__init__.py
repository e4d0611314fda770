"""The command ``gradwire``."""
