"""Scoring: metrics, the runner and its store, aggregation and reports. Import the module that you need."""
