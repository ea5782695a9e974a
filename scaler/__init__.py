"""Scale GPU node pools and idle GPU workers from what Kueue and DCGM say, on behalf of KEDA."""

__version__ = "0.1.0"
