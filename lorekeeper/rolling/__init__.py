"""Dice, and tables of entries that are rolled on."""
