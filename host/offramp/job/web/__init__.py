# SPDX-License-Identifier: Apache-2.0
"""A job while it runs, as a page for browsers and as metrics for Prometheus: ``offramp job top --web``."""
