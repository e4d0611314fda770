"""Everything around the canvas: panels, bars, dialogs and the manual."""
