"""The Rewards page."""
