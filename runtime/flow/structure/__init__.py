"""Structural analysis of gradient flow: reachability, searches, closed slots, reasons."""
