"""What is sent: replies, buttons, bodies of queued messages, the queues themselves."""
