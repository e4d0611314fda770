"""Steps that copy arrays whose elements lie otherwise."""
