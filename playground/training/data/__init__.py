"""Prompts and preference pairs as token ids."""
