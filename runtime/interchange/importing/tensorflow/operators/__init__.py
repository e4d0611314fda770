"""The operators of TensorFlow, a module a family."""
