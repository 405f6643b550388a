"""Files of datasets: where they are, their checksums, downloads, and arrays prepared from them."""
