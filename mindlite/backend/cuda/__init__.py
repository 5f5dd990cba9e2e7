"""NVIDIA GPUs: kernels as PTX, the driver that runs them, and a simulator of both for machines without a GPU."""
