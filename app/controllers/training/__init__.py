"""Training in the editor: playing it, its curves, its alarms, and two side by side."""
