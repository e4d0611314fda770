"""What other systems compute for a block where it differs, a module a system."""
