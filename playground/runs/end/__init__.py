"""Ending workers: signals to them, and the process that ends one that hangs in a stranger's program."""
