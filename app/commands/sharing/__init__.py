"""Writes what others read without Gradwire: pages for browsers, source and models."""
