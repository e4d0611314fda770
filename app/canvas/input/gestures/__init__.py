"""Gestures: what the mouse does between a press and its release."""
