"""Pictures of pages as PNG, SVG, PDF and TikZ, drawn by the painter of the canvas."""
