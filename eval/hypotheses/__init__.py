"""The do()-grounded evaluator of hypotheses: every verdict is an experiment in the simulator, no text is compared."""
