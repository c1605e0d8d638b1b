"""The data of the chat: requests, drafts, payments, times, messages, jobs and queues; pure."""
