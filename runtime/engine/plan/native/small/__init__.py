"""Machine code for steps that are over sooner than a call of numpy."""
