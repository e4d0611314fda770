"""The file of a page: the parts of its script joined, its data packed, and the HTML around them."""
