"""The Qt editor: a view of a diagram and of what a run makes of it. Needs the ``app`` extra."""
