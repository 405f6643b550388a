"""Studies beside the tables: complexity, universality, race, sensitivity, demonstration."""
