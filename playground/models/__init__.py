"""Which models can be loaded, and from where: folders, their weights and adapters, the hub. Nothing is loaded here."""
