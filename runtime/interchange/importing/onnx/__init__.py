"""Imports ONNX models. Needs the package onnx, which is loaded once a model is read."""
