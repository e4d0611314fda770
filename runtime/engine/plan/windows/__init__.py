"""Images in memory for convolutions by machine code, and the steps that correlate them."""
