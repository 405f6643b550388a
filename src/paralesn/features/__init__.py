"""Features of whole series: one row for each of them."""
