"""What an update that was recorded in slow motion says, and what it would say under other settings."""
