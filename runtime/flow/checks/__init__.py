"""What the doctor looks for in a whole diagram, each by rules of its own."""
