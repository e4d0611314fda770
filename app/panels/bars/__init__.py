"""Bars above the canvas: notices, offers, progress, trials, search, breadcrumbs."""
