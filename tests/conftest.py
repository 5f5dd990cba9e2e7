"""Every test compiles for itself: what an earlier run left on the disk is not taken (tests/compile/test_kept.py asks for it)."""
import os

os.environ.setdefault("MINDLITE_KEEP_FLOWS", "0")
os.environ.setdefault("MINDLITE_VERIFY_GRAPHS", "1")              # typed graphs are verified behind each pass
