"""Learned rewards: their token ids, their models, their self-test, and how they are trained. Imports torch."""
