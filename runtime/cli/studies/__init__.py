"""What ``gradwire study`` is made of."""
