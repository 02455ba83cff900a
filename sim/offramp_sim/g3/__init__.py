# SPDX-License-Identifier: Apache-2.0
"""Full-graph training on machines that are not here: G3's pipelines with their stages and links."""
