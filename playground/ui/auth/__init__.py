"""What every request passes through, who may do what, and what visitors hand over."""
