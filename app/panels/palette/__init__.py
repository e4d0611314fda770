"""The palette of blocks and pages."""
