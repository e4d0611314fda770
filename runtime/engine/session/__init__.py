"""Sessions: requests, what they need executed, and their results."""
