"""What the menu entries do, one module a menu or a subject."""
