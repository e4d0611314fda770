"""What an iteration is made of: steps of optimisers, averages, validation, and their memory."""
