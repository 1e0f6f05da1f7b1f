"""What runs in the worker and in the model service: models, sampling, the PPO trainer. Never imports the page."""
