"""What a round is made of: turns of optimisers, averages, validation, and their memory."""
