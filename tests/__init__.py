"""The tests; what their support asserts says its values, as in a test's own file."""

import pytest

pytest.register_assert_rewrite("tests.support")
