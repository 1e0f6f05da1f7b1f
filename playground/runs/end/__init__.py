"""Ending workers: signals to them."""
