"""Trains a Tangram plan: the executable meaning of the plan format."""
