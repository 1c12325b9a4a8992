"""Inputs: bytes and frames become batches of conforming rows; one file per family of formats."""
