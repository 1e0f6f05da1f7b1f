"""From the records of runs to what the page draws, while they train."""
