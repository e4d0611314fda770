"""Courses: lessons that are checked, played by a class, marked, and remembered."""
