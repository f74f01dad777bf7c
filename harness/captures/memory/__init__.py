"""Snapshots of torch's caching allocator."""
