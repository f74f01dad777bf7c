"""The door: a run, cell, report or capture file becomes evidence."""
