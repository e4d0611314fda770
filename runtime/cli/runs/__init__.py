"""Commands that train: one module a command."""
