"""Figures and tables of the papers again, beside the published numbers."""
