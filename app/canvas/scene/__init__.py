"""The geometry of a page: numpy arrays, curves, bends, the camera, the focus."""
