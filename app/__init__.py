"""The Qt editor: a view of a diagram and of what a run makes of it. Needs the ``app`` extra."""

import os

# Small arrays gain nothing from a thread pool that fights the window for cores. The linear
# algebra library reads this when numpy is loaded first, so it stands before all imports.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
