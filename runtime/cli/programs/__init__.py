"""Commands about programs of a user: what they train, and what their models do."""
