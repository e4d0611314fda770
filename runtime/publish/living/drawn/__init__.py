"""What a page draws: blocks, wires and notes as data, what views show, and a still picture."""
