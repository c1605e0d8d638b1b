"""QR codes, and text that fits into pictures, in every script."""
