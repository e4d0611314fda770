"""How a page is drawn."""
