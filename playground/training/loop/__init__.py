"""One update of PPO, and what is measured beside it."""
