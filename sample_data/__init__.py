"""Real and synthetic data for the demo, the tests and the benchmarks.

Three small real files lie in this folder (sources and licences: README.md). `weather` makes a synthetic series at
the real airports' positions; `access_log` cuts the real log into files per hour; `demo` shows skipping on both.
"""
