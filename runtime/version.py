"""The version of this Gradwire; packaging reads it from here."""

__version__ = "0.1.0"
