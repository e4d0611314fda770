"""The commands of ``gradwire`` that write a diagram for other systems, one module each."""
