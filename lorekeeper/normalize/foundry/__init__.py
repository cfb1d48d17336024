"""Documents of Foundry VTT, of the game systems dnd5e and Black Flag, to entities.

`documents` tells what an object is and how documents refer to each other, `entries` makes entities of them; between these a
module for each kind shapes their data as Open5e does, so that filters, text and pages read it as they read Open5e's.
"""
