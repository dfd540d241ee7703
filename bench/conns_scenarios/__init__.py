# SPDX-License-Identifier: Apache-2.0
"""Connections whose limits are known by the way they are made."""
