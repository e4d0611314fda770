"""Mouse and keyboard input on the canvas, turned into changes of the diagram."""
