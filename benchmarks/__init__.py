"""One command for each claim about speed and memory."""

import os

SPIN = "OPENBLAS_THREAD_TIMEOUT"
"""How long NumPy's threads look for more work after a product, as a power of two of processor cycles. By default 25 ms, on
the processors that whatever is measured next needs; so the benchmarks' own are sent to sleep, and servers keep theirs."""

os.environ[SPIN] = "4"
