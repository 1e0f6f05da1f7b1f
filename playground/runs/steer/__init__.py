"""Changing a run while it trains."""
