"""Automatic layout of pages."""
