"""What the faces of view blocks show: pictures as plain numbers, without a window."""
