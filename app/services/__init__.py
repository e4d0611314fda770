"""What every room of the editor may use: settings, theme, background work, the journal."""
