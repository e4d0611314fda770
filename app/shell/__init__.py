"""The main window with docks, menus and actions, and the list of windows of the process."""
