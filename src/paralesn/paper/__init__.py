"""The paper's experiments: catalogue, runs, searches, records and tables."""
