"""One page that shows what is on record: tables, figures, configurations, surroundings."""
