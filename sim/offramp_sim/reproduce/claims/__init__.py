# SPDX-License-Identifier: Apache-2.0
"""What the documents claim about the reproductions: each claim is declared once, beside the number that it rests on."""
