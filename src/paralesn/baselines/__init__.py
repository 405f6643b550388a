"""Trainable sequence models in PyTorch, the extra ``torch``: what the paper measures itself by."""
