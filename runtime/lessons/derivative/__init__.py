"""The derivative of one block: its rules, its numbers, and the card that shows both."""
