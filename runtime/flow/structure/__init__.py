"""Which slots pass gradient: reachability, searches, closed slots, reasons."""
