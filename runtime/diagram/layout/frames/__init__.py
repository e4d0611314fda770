"""Frames and notes: blocks of a frame stay together, and nothing lies on a note."""
