"""The payment request and its rules: pure, no clock, no I/O."""
