"""How each system writes primitives, and the modules that are written for it."""
