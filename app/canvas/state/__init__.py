"""What the canvas shows of a result: resolved values, without painting."""
