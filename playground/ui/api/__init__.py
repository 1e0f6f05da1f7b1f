"""What programs may ask of the page by name: scripts through Gradio's client, agents through MCP."""
