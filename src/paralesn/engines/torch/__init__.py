"""The PyTorch engine: parallel scans on any device, differentiable."""
