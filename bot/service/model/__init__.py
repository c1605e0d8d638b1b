"""What a payment request is and may become: pure, no clock, no I/O."""
