"""How runs end: reasons, evidence, processes, and who writes the end of the dead."""
