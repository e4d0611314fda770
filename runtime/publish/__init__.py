"""Reports: text for people, JSON for programs."""
