"""Signals, images and volumes on other grids: resized, or read at given places."""
