"""What each ONNX operator is in blocks, a module a family."""
