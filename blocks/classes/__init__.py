"""How classes are made, and what their source says of them."""
