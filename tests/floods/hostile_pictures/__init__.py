"""Every picture that strangers might send, sent by ten of them at once to the product in 512 MB."""
