"""Programs that torch.export.save has written, read without torch."""
