"""Recordings of load on a serving engine, as the probe's driver writes them."""
