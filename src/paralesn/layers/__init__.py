"""The spine: drawn arrays of a reservoir as frozen records, and the state of a run."""
