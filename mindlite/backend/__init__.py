"""Machines: kernels of this CPU, libraries by function address, the launcher, the doctor."""
