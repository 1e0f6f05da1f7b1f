"""Sweeps: named groups of ordinary runs, one for each combination of some values in a configuration."""
