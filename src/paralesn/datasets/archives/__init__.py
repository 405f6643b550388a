"""Datasets from the files of public archives."""
