"""Runs that other programs train, as run folders of ours: they are watched, and nothing else."""
