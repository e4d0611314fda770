"""Machine code for regions that go through memory row by row."""
