"""Proximal policy optimisation as pure functions of tensors and numbers.

Imports torch and nothing of this project: no models, no tokenizers, no files. Shapes: B episodes, C completion tokens,
V vocabulary. Masks are boolean, True = a real completion token (the end-of-sequence token is one; padding is not).
"""
