"""What comes out of a run: scripts and settings, tables and histories for other tools, the trained model, its card.
Imports neither torch nor trl: the model service does what needs the weights."""

from __future__ import annotations

from playground.exports.scripts import command, trl_plan, trl_script, yaml_text

__all__ = ["command", "trl_plan", "trl_script", "yaml_text"]
