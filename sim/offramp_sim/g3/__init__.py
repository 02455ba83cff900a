# SPDX-License-Identifier: Apache-2.0
"""Full-graph training on simulated machines: G3's pipelines with their stages and links."""
