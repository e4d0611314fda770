"""The Why panel: what one wire says about its gradient."""
