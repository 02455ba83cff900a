# SPDX-License-Identifier: Apache-2.0
"""Claims of the documents about the reproductions: each is declared once, beside the number that it rests on."""
