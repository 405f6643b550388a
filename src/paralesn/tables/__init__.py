"""People's own files: tables, time columns, observations, series to classify."""
