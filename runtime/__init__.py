"""Gradwire's headless runtime: diagrams, calculus, engine, gradient flow. Never imports Qt."""
