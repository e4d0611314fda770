"""The commands of ``gradwire``, one module each."""
