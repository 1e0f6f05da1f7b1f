"""Rewards as plain Python functions of text, and their weighted sum. No torch, no models."""
