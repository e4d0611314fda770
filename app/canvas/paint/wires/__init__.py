"""How wires are drawn: lanes, their labels, numbers beside them, and wires that are open."""
