"""Studies: trainings of one diagram with other numbers and seeds, side by side."""
