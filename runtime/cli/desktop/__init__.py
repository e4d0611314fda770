"""The desktop's menu and file manager know Gradwire: what is written for them, and taken back."""
