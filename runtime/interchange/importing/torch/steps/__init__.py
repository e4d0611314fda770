"""What a captured training step does around its gradients: their order, their owners, failures."""
