"""Sweeps: named groups of ordinary runs, one for each way of putting some values into a configuration."""
