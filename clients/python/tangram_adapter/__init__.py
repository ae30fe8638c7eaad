"""Parallelizers for Tangram, written in Python.

Derive from Adapter, implement parallelize(), and call serve(). See
docs/writing-an-adapter.md.
"""

from tangram_adapter.adapter import Adapter
from tangram_adapter.answers import answer, no_plan, plan, stage
from tangram_adapter.query import Query
from tangram_adapter.server import serve

__all__ = ["Adapter", "Query", "answer", "no_plan", "plan", "serve", "stage"]
