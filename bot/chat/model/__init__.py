"""The data of the chat: requests, drafts, payments, times, messages, jobs and queues.

Pure, but for `queues`, which puts messages.
"""
