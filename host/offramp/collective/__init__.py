"""Themis (Rashidi et al., ISCA 2022): collectives over networks of several dimensions, chunk by chunk in orders of their own."""
