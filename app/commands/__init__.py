"""The commands behind the menu entries, one module per menu or subject."""
