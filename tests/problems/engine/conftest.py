"""What Triton compiles for a load is tested where the interpreter with torch has Triton."""

from tests.support.torch_cpu import HAS_TRITON

collect_ignore = [] if HAS_TRITON else ["test_forms.py"]
