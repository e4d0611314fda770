"""What a training writes: checkpoints, histories, and the folder of a run."""
