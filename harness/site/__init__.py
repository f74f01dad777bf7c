"""The reports as a static site: worklogs, claims with their evidence, timelines, captures."""
