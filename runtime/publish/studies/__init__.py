"""Studies for readers: tables, files for other programs, and plots."""
