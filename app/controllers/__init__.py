"""Controllers: each keeps one panel or overlay up to date with the newest result."""
