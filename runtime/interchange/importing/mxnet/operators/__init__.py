"""The operators of MXNet, a module a family."""
