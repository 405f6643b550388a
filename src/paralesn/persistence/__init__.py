"""Save and load models: one file, no pickle, nothing executed.

`register` enters a class into the registry of what may be saved; every class of the package that
can be saved decorates itself with it, and users' own classes may do the same.
"""

from paralesn.persistence.model_file import load, load_metadata, save
from paralesn.persistence.registry import register

__all__ = ["load", "load_metadata", "register", "save"]
