"""What models there are to load and where: folders, their weights and adapters, the hub. Nothing is loaded here."""
