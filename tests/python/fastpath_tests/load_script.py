# SPDX-License-Identifier: GPL-2.0-only
"""Scripts whose names are no modules' names, as modules."""

import importlib.machinery
import importlib.util
import os


def load_script(path):
    name = os.path.basename(path).replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
