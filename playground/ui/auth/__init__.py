"""What every request passes, who may do what, and what strangers hand over."""
