"""Gradient flow of a user's own programs: in tests, in reviews, for assistants, and as patches."""
