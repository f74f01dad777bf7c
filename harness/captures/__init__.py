"""One file a kind of capture: how it is recorded, what it leaves behind, how it becomes evidence."""
