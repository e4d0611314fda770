"""What menus, keys and the command palette do: the table of actions, and what is built from it."""
