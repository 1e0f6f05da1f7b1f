"""A run on disk: its folder, its records, its checkpoints; who writes them and who lists them."""
