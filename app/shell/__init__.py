"""The main window and what surrounds it: docks, menus, actions, the windows of the process."""
