"""Commands about several versions of a diagram."""
