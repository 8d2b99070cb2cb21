"""Numba kernels: arrays and integers in, status out. No other package here may import Numba."""
