"""The state that the canvas shows, resolved from a result, without painting."""
