"""What lies in an area of a large page, and the bounds around all of it."""
