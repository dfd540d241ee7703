# SPDX-License-Identifier: Apache-2.0
"""The scenarios by name, in the order in which they were written."""
SCENARIOS = {}


def scenario(function):
    """Its name is the function's, with hyphens."""
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function
