"""What each primitive of JAX is in blocks, by family."""
