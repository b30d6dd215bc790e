# SPDX-License-Identifier: GPL-2.0-only
"""Scripts whose names are no modules' names, as modules."""

import importlib.machinery
import importlib.util
import os

HERE = os.path.dirname(os.path.realpath(__file__))


def load_script(path):
    """PATH is relative to this folder."""
    name = os.path.basename(path).replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
