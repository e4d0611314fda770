"""Where things lie on a page: numpy arrays, curves, bends, the camera, the focus."""
