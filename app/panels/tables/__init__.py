"""Panels that are tables or lists: problems, variables, losses, the doctor."""
