"""The operators of PyTorch as blocks, a module a family."""
