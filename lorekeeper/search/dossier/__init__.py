"""Dossiers: what a library has on a person, place or theme, on one page."""
