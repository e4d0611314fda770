"""How numpy computes what it has no fast function for."""
