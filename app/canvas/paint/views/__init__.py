"""How the pictures on the faces of views are drawn."""
