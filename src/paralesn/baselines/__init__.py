"""Trainable sequence models in PyTorch (the extra ``torch``): the baselines of the paper."""
