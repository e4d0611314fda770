"""What Gradwire tells its readers: reports as text for people and as JSON for programs."""
