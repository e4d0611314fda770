"""The numpy engine: plans, their tasks and memory, and the passes that speed them up."""
