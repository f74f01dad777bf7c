"""One file a kind of capture: how it is recorded, what it leaves, how it becomes evidence."""
