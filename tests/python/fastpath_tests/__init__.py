# SPDX-License-Identifier: GPL-2.0-only
"""What the tests and the workloads that are written in Python share."""
