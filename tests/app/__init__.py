"""The one object that front ends call."""
