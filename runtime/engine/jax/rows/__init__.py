"""How JAX computes each primitive, a module a family."""
