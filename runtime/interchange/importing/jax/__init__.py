"""Captures functions of JAX: their jaxprs become diagrams, with stops, custom rules and loops."""
