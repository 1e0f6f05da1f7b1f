"""Language models: loading, chat templates, checkpoints, weights for use elsewhere."""
