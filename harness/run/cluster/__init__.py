"""A plan on other machines: parts of it become jobs of a batch system, which schedules them."""
