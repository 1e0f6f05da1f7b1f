"""RLHF Playground: train a small language model with PPO, watch it, and compare it with what it was."""

__version__ = "0.1.0"
